#include "trainer/report/json_lines.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FreshPath() {
  const std::string path = testing::TempDir() + "/metrics.jsonl";
  std::filesystem::remove(path);
  return path;
}

std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::unique_ptr<JsonLinesReporter> Open(const std::string& path) {
  return *JsonLinesReporter::Open(path, [] { return 1000.5; });
}

TEST(JsonLines, WritesTheContractsObjects) {
  const std::string path = FreshPath();
  auto reporter = Open(path);
  ASSERT_TRUE(reporter
                  ->OnStep({.epoch = 1,
                            .batch = 3,
                            .step = 12,
                            .loss = 0.5,
                            .learning_rates = {{"default", 0.1}},
                            .samples_per_second = 100,
                            .data_wait = 0.25,
                            .logged = true})
                  .ok());
  ASSERT_TRUE(reporter
                  ->OnEpoch({.split = "valid",
                             .epoch = 1,
                             .step = 45,
                             .metrics = {{"Accuracy", 0.75}},
                             .seconds = 2})
                  .ok());
  EventReport event = {.name = "checkpoint", .epoch = 1, .step = 45};
  event.detail["path"] = "ckpt_latest.pth";
  ASSERT_TRUE(reporter->OnEvent(event).ok());
  EXPECT_THAT(
      Lines(path),
      ElementsAre(
          R"({"kind":"header","schema":1})",
          R"({"kind":"step","time":1000.5,"epoch":1,"step":12,"loss":0.5,)"
          R"("lr":{"default":0.1},"samples_per_second":100.0,)"
          R"("data_wait":0.25})",
          R"({"kind":"epoch","split":"valid","epoch":1,"step":45,)"
          R"("metrics":{"Accuracy":0.75},"seconds":2.0})",
          R"({"kind":"event","name":"checkpoint","epoch":1,"step":45,)"
          R"("detail":{"path":"ckpt_latest.pth"}})"));
}

TEST(JsonLines, TellsWhereTheTimeWent) {
  const std::string path = FreshPath();
  EpochReport epoch = {.split = "train", .epoch = 0, .step = 9};
  epoch.time = {.seconds = {{"data", 0.5}, {"forward", 1.5}},
                .shares = "data 25 %, compute 75 %",
                .advice = "raise num_workers"};
  ASSERT_TRUE(Open(path)->OnEpoch(epoch).ok());
  EXPECT_EQ(Lines(path)[1],
            R"({"kind":"epoch","split":"train","epoch":0,"step":9,)"
            R"("metrics":{},"seconds":0.0,)"
            R"("time":{"data":0.5,"forward":1.5},)"
            R"("advice":"raise num_workers"})");
}

TEST(JsonLines, LeavesOutStepsThatAreNotLogged) {
  const std::string path = FreshPath();
  ASSERT_TRUE(Open(path)->OnStep({.step = 1}).ok());
  EXPECT_EQ(Lines(path).size(), 1u);
}

TEST(JsonLines, WritesNonFiniteNumbersAsTexts) {
  EXPECT_EQ(JsonNumber(std::nan("")), "nan");
  EXPECT_EQ(JsonNumber(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(JsonLines, AppendsOnResumeAndCutsAHalfLine) {
  const std::string path = FreshPath();
  ASSERT_TRUE(Open(path)->OnEvent({.name = "signal"}).ok());
  std::ofstream(path, std::ios::app) << R"({"kind":"step","ti)";
  ASSERT_TRUE(Open(path)->OnEvent({.name = "resume"}).ok());
  const std::vector<std::string> lines = Lines(path);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr("signal"));
  EXPECT_THAT(lines[2], HasSubstr("resume"));
}

TEST(JsonLines, NamesThePathThatCannotBeOpened) {
  const absl::Status status =
      JsonLinesReporter::Open("/nowhere/metrics.jsonl").status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/nowhere/metrics.jsonl"));
}

TEST(JsonLines, SaysSoWhenTheDiskIsFull) {
  auto reporter = JsonLinesReporter::Open("/dev/full");
  EXPECT_FALSE(reporter.ok());
}

}  // namespace
}  // namespace slipway
