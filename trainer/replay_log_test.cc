#include "trainer/replay_log.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/linear.h"

namespace slipway {
namespace {

using loop::StateRecord;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string FreshPath() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = testing::TempDir() + "/" + test->name() + ".jsonl";
  std::filesystem::remove(path);
  return path;
}

StateRecord Record(int64_t step) {
  return {.rank = 1,
          .epoch = 2,
          .batch = 3,
          .step = step,
          .hashes = {{"net/weight", "aa"}, {"net/bias", "bb"}}};
}

void Append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

void WriteRun(const std::string& path, std::vector<int64_t> steps) {
  auto writer = ReplayLogWriter::Open(path, {{"threads", steps.size()}}, 10);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const int64_t step : steps) {
    ASSERT_TRUE((*writer)->Observe(Record(step)).ok());
  }
}

TEST(ReplayLog, IsReadAsItWasWritten) {
  const std::string path = FreshPath();
  WriteRun(path, {10, 20});
  const absl::StatusOr<ReplayLog> log = ReadReplayLog(path);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(log->environments, ElementsAre(ordered_json{{"threads", 2}}));
  ASSERT_EQ(log->records.size(), 2u);
  EXPECT_EQ(log->records[0].rank, 1);
  EXPECT_EQ(log->records[0].epoch, 2);
  EXPECT_EQ(log->records[0].batch, 3);
  EXPECT_EQ(log->records[1].step, 20);
  EXPECT_THAT(log->records[1].hashes,
              ElementsAre(Pair("net/weight", "aa"), Pair("net/bias", "bb")));
}

TEST(ReplayLog, GoesOnAfterAHalfLine) {
  const std::string path = FreshPath();
  WriteRun(path, {10});
  Append(path, "{\"kind\":\"state\",\"rank\":0,\"ep");
  const absl::StatusOr<ReplayLog> torn = ReadReplayLog(path);
  ASSERT_TRUE(torn.ok()) << torn.status();
  EXPECT_EQ(torn->records.size(), 1u);

  WriteRun(path, {10, 20, 30});
  const absl::StatusOr<ReplayLog> log = ReadReplayLog(path);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(log->environments, ElementsAre(ordered_json{{"threads", 1}},
                                             ordered_json{{"threads", 3}}));
  EXPECT_EQ(log->records.size(), 4u);
}

TEST(ReplayLog, IsWrittenAtEverySoManyStepsAndAtTheEdges) {
  auto writer = ReplayLogWriter::Open(FreshPath(), {}, 10);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE((*writer)->Wants(Record(20), false));
  EXPECT_FALSE((*writer)->Wants(Record(21), false));
  EXPECT_TRUE((*writer)->Wants(Record(21), true));
}

struct Case {
  const char* text;
  const char* message;
};

TEST(ReplayLog, RefusesWhatIsNone) {
  const Case cases[] = {
      {"", "no state to compare with"},
      {"{\"kind\":\"header\",\"schema\":1}\n", "no state to compare with"},
      {"{\"kind\":\"header\",\"schema\":1}\nnonsense\n", ":2: expected a line"},
      {"[1, 2]\n", ":1: expected"},
      {"{\"kind\":\"state\",\"rank\":0}\n", ":1: expected"},
      {"{\"kind\":\"state\",\"rank\":\"x\",\"epoch\":0,\"batch\":0,\"step\":0,"
       "\"parts\":{}}\n",
       ":1: expected"},
      {"{\"kind\":\"state\",\"rank\":0,\"epoch\":0,\"batch\":0,\"step\":0,"
       "\"parts\":{\"net\":1}}\n",
       ":1: expected"},
  };
  for (const Case& c : cases) {
    const std::string path = FreshPath();
    Append(path, c.text);
    const absl::Status status = ReadReplayLog(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(status.message(), HasSubstr(c.message)) << c.text;
  }
  EXPECT_EQ(ReadReplayLog("/nowhere/state_hashes.jsonl").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ReplayLog, LiesInTheRunsFolderByRank) {
  EXPECT_EQ(ReplayLogPath("run", 0), "run/state_hashes.jsonl");
  EXPECT_EQ(ReplayLogPath("run", 3), "run/state_hashes.rank3.jsonl");
}

TEST(ReplayLog, KnowsWhatResultsDependOn) {
  const ordered_json here = ReplayEnvironment(*nn::Linear({.in = 1, .out = 1}));
  EXPECT_GE(here["threads"], 1);
  EXPECT_EQ(here["device"], "cpu");
  EXPECT_EQ(here["world_size"], 1);
  for (const char* key : {"cpu", "libtorch", "slipway"}) {
    EXPECT_TRUE(here[key].is_string()) << key;
  }
}

}  // namespace
}  // namespace slipway
