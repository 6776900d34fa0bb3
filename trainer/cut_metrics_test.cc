#include "trainer/cut_metrics.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using Lines = std::vector<std::string>;

constexpr char kHeader[] = R"({"kind":"header","schema":1})";

std::string Step(int epoch, int step) {
  return R"({"kind":"step","epoch":)" + std::to_string(epoch) + R"(,"step":)" +
         std::to_string(step) + "}";
}

std::string Epoch(const char* split, int epoch, int step) {
  return std::string(R"({"kind":"epoch","split":")") + split + R"(","epoch":)" +
         std::to_string(epoch) + R"(,"step":)" + std::to_string(step) + "}";
}

std::string Saved(int epoch, int step) {
  return R"({"kind":"event","name":"checkpoint","epoch":)" +
         std::to_string(epoch) + R"(,"step":)" + std::to_string(step) +
         R"(,"detail":{"file":"ckpt_latest.pth"}})";
}

std::string Event(const char* name, int epoch, int step) {
  return std::string(R"({"kind":"event","name":")") + name + R"(","epoch":)" +
         std::to_string(epoch) + R"(,"step":)" + std::to_string(step) +
         R"(,"detail":{}})";
}

// What is left of these lines, and of `rest` after them.
Lines Cut(const Lines& lines, const MetricsPlace& place,
          const std::string& rest = "") {
  const std::string path = testing::TempDir() + "/metrics.jsonl";
  std::ofstream(path) << absl::StrJoin(lines, "\n") << "\n" << rest;
  const absl::Status status = CutMetrics(path, place);
  EXPECT_TRUE(status.ok()) << status;
  Lines left;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) left.push_back(line);
  return left;
}

Lines FirstOf(const Lines& lines, size_t count) {
  return {lines.begin(), lines.begin() + count};
}

// A checkpoint is told when it is whole, which may be steps later.
TEST(CutMetrics, KeepsWhatWasBeforeTheCheckpointInAnyOrder) {
  const Lines lines = {kHeader,     Step(0, 0),   Step(0, 10),
                       Step(0, 15), Step(0, 16),  Saved(0, 15),
                       Step(0, 17), Saved(0, 17), Event("skip_step", 0, 18)};
  EXPECT_EQ(Cut(lines, {.epoch = 0, .step = 15}),
            (Lines{kHeader, Step(0, 0), Step(0, 10), Saved(0, 15)}));
}

TEST(CutMetrics, GoesByStepsAndEpochs) {
  const Lines lines = {kHeader,
                       Step(0, 0),
                       Epoch("train", 0, 10),
                       Epoch("valid", 0, 10),
                       Step(1, 10),
                       Epoch("valid", 1, 12),
                       Step(1, 13)};
  EXPECT_EQ(Cut(lines, {.epoch = 1, .step = 12}), FirstOf(lines, 6));
  EXPECT_EQ(Cut(lines, {.epoch = 1, .step = 10}), FirstOf(lines, 4));
  EXPECT_EQ(Cut(lines, {.epoch = 0, .step = 0}), FirstOf(lines, 1));
  // Nothing was saved yet.
  EXPECT_TRUE(Cut(lines, {.epoch = -1, .step = -1}).empty());
}

// Its training comes once more with the validation that was broken off.
TEST(CutMetrics, DropsTheResultsOfAnEpochThatIsNotFinished) {
  const Lines lines = {kHeader, Step(0, 9), Epoch("train", 0, 10)};
  EXPECT_EQ(Cut(lines, {.epoch = 0, .step = 10}), FirstOf(lines, 2));
}

TEST(CutMetrics, EndsBeforeALineThatIsBroken) {
  const Lines lines = {kHeader, Step(0, 0), Step(0, 1)};
  const MetricsPlace place = {.epoch = 0, .step = 5};
  EXPECT_EQ(Cut(lines, place, R"({"kind":"st)"), lines);
  EXPECT_EQ(Cut(lines, place, "42\n" + Step(0, 2) + "\n"), lines);
}

TEST(CutMetrics, TakesNoFileForAnEmptyOne) {
  EXPECT_TRUE(CutMetrics("/nowhere/metrics.jsonl", {}).ok());
}

}  // namespace
}  // namespace slipway
