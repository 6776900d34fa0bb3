#include "trainer/report/event_log.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/report/testing/read_events.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class EventLogTest : public testing::Test {
 protected:
  EventLogTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::unique_ptr<EventLog> Open(EventLog::Keep keep = All, double now = 100) {
    auto log = EventLog::Open(folder_, keep, now);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  static bool All(const EventHead&) { return true; }
  static bool Before3(const EventHead& event) { return event.step < 3; }

  static void Write(EventLog& log, int64_t first, int64_t last, float value) {
    for (int64_t step = first; step <= last; ++step) {
      ASSERT_TRUE(log.Write(EncodeScalars(1, step, {{"a", value}})).ok());
    }
  }

  std::string folder_ = testing::TempDir() + "/event_log_test";
};

TEST_F(EventLogTest, StartsAFileWhoseNameTensorBoardKnows) {
  const auto log = Open();
  const std::string name = std::filesystem::path(log->path()).filename();
  EXPECT_THAT(name, testing::StartsWith("events.out.tfevents.0000000100."));
  EXPECT_THAT(EventFilesIn(folder_), ElementsAre(log->path()));
}

TEST_F(EventLogTest, WritesEachEventAtOnce) {
  const auto log = Open();
  Write(*log, 1, 2, 0.5);
  EXPECT_THAT(ReadScalars(folder_)["a"],
              ElementsAre(ScalarPoint{1, 0.5}, ScalarPoint{2, 0.5}));
}

TEST_F(EventLogTest, GoesOnInANewFileWithWhatStillHolds) {
  Write(*Open(), 1, 4, 1);
  const std::string old = EventFilesIn(folder_)[0];
  Write(*Open(Before3), 3, 5, 2);
  const auto files = EventFilesIn(folder_);
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_EQ(files[0], old);  // empty, and read first by whoever watches
  EXPECT_EQ(std::filesystem::file_size(old), 0u);
  EXPECT_THAT(
      ReadScalars(folder_)["a"],
      ElementsAre(ScalarPoint{1, 1}, ScalarPoint{2, 1}, ScalarPoint{3, 2},
                  ScalarPoint{4, 2}, ScalarPoint{5, 2}));
}

TEST_F(EventLogTest, LeavesEachStepOnceWhereTheOldFileStays) {
  Write(*Open(), 1, 4, 1);
  const std::string old = EventFilesIn(folder_)[0];
  const std::string copy = folder_ + "/copy";
  std::filesystem::copy(old, copy);
  Write(*Open(Before3), 3, 3, 2);
  std::filesystem::rename(copy, old);  // as if the process had died before
  EXPECT_THAT(
      ReadScalars(folder_)["a"],
      ElementsAre(ScalarPoint{1, 1}, ScalarPoint{2, 1}, ScalarPoint{3, 2}));
}

TEST_F(EventLogTest, RemovesWhatWasEmptyAlready) {
  for (int i = 0; i < 4; ++i) Write(*Open(), i, i, 1);
  EXPECT_THAT(EventFilesIn(folder_), SizeIs(2));
  EXPECT_THAT(ReadScalars(folder_)["a"], SizeIs(4));
}

TEST_F(EventLogTest, LeavesOutWhatAKillCut) {
  Write(*Open(), 1, 1, 1);
  std::ofstream(EventFilesIn(folder_)[0], std::ios::app) << "\x25\0\0";
  Write(*Open(), 2, 2, 2);
  EXPECT_THAT(ReadScalars(folder_)["a"],
              ElementsAre(ScalarPoint{1, 1}, ScalarPoint{2, 2}));
}

TEST_F(EventLogTest, SaysWhyItCannotBeOpened) {
  const auto log = EventLog::Open("/proc", All, 100);
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(std::string(log.status().message()),
              HasSubstr("/proc/events.out.tfevents."));
}

}  // namespace
}  // namespace slipway
