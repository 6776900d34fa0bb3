#include "tests/perf/epoch_table.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::perf {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

constexpr char kResult[] = R"({"schema": 1,
  "metrics": {"final": {"train": {"CrossEntropyLoss": 0.5, "Accuracy": 0.75},
                        "valid": {"CrossEntropyLoss": 0.25}}, "best": null},
  "peak_rss_bytes": 250000000,
  "compile": {"scope": "step", "candidate": "plain", "speedup": 1.25}})";

std::string EpochLine(const std::string& split, int epoch, double seconds,
                      double waiting = 0) {
  return absl::StrCat(R"({"kind":"epoch","split":")", split, R"(","epoch":)",
                      epoch, R"(,"seconds":)", seconds,
                      R"(,"time":{"data":0.25,"synchronisation":)", waiting,
                      "}}\n");
}

// A run's folder with these files.
std::string FolderWith(const std::string& metrics, const std::string& result) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = testing::TempDir() + "/" + test->name();
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/metrics.jsonl") << metrics;
  std::ofstream(folder + "/result.json") << result;
  return folder;
}

TableRow Row(bool ema, int ranks, double baseline, double compiled) {
  TableRow row = {.recipe = "digits", .ema = ema, .ranks = ranks};
  row.baseline.seconds = baseline;
  row.compiled.seconds = compiled;
  return row;
}

TEST(ReadRun, TakesMediansOfEpochsAfterTheWarmUp) {
  const auto run = ReadRun(
      FolderWith(
          absl::StrCat("{\"kind\":\"header\",\"schema\":1}\n",
                       EpochLine("train", 0, 90), EpochLine("valid", 0, 9),
                       EpochLine("train", 1, 1, 0.5), EpochLine("valid", 1, 8),
                       EpochLine("train", 2, 2, 0.75), EpochLine("valid", 2, 2),
                       EpochLine("train", 3, 7), EpochLine("valid", 3, 0.5),
                       "{\"kind\":\"step\",\"seconds\":3}\n"),
          kResult),
      /*warm_up=*/1);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->epochs, 3);
  // Of 9, 4 and 7.5: not the sum of the medians.
  EXPECT_EQ(run->seconds, 7.5);
  EXPECT_EQ(run->train_seconds, 2);
  EXPECT_EQ(run->synchronisation_seconds, 0.5);
  EXPECT_EQ(run->valid_seconds, 2);
  EXPECT_EQ(run->peak_rss_bytes, 250'000'000);
  EXPECT_EQ(run->metrics["train"]["Accuracy"], 0.75);
  EXPECT_EQ(run->compile["candidate"], "plain");
}

TEST(ReadRun, LeavesOutEpochsThatDidNotEnd) {
  const auto run = ReadRun(
      FolderWith(
          absl::StrCat(EpochLine("train", 0, 1), EpochLine("valid", 0, 2),
                       EpochLine("train", 1, 50), "{\"kind\":\"epo"),
          kResult),
      /*warm_up=*/0);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->epochs, 1);
  EXPECT_EQ(run->seconds, 3);
}

TEST(ReadRun, SaysWhatIsMissing) {
  const std::string one = EpochLine("train", 0, 1) + EpochLine("valid", 0, 1);
  EXPECT_TRUE(absl::IsNotFound(ReadRun("/no/such/run", 0).status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadRun(FolderWith(one, kResult), 1).status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadRun(FolderWith(one, "{\"sch"), 0).status()));
}

TEST(TableRow, ImprovesByTheShareOfTheBaseline) {
  EXPECT_NEAR(Row(false, 1, 270.63, 119.11).improvement(), 55.99, 0.01);
  EXPECT_NEAR(Row(false, 1, 373.73, 374.51).improvement(), -0.21, 0.01);
}

TEST(ToText, HasALineForEachRecipeAndAColumnForEachNumberOfRanks) {
  const std::string text =
      ToText({Row(false, 1, 4, 3), Row(false, 2, 2, 1), Row(true, 1, 8, 4)});
  const std::string first = text.substr(0, text.find("\n\n"));
  EXPECT_THAT(first, testing::MatchesRegex(
                         "recipe +EMA +baseline .1 rank. +baseline .2 ranks. +"
                         "compiled .1 rank. +compiled .2 ranks. +"
                         "improvement .1 rank. +improvement .2 ranks.\n"
                         "digits +off +4.000 s +2.000 s +3.000 s +1.000 s +"
                         "25.0 % +50.0 %\n"
                         "digits +on +8.000 s +4.000 s +50.0 % *"))
      << first;
}

TEST(ToText, TellsWhatEachRunWas) {
  TableRow row = Row(true, 2, 4, 3);
  row.compiled.compile = ordered_json::parse(kResult)["compile"];
  row.compiled.metrics = ordered_json::parse(kResult)["metrics"]["final"];
  row.compiled.peak_rss_bytes = 250'000'000;
  const std::string text = ToText({row});
  EXPECT_THAT(text, HasSubstr("digits, EMA on, 2 ranks"));
  EXPECT_THAT(text, HasSubstr("step, plain"));
  EXPECT_THAT(text, HasSubstr("250 MB"));
  EXPECT_THAT(text, HasSubstr("train CrossEntropyLoss 0.5, train Accuracy "
                              "0.75, valid CrossEntropyLoss 0.25"));
}

TEST(ToJson, HasBothRuns) {
  const ordered_json json = ToJson({Row(true, 2, 4, 3)});
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["recipe"], "digits");
  EXPECT_EQ(json[0]["ema"], true);
  EXPECT_EQ(json[0]["ranks"], 2);
  EXPECT_EQ(json[0]["baseline"]["seconds"], 4);
  EXPECT_EQ(json[0]["compiled"]["seconds"], 3);
  EXPECT_EQ(json[0]["improvement"], 25);
}

}  // namespace
}  // namespace slipway::perf
