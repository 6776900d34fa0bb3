#include "trainer/report/html/run_data.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::html {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunDataTest : public testing::Test {
 protected:
  RunDataTest() { std::filesystem::remove_all(root_); }

  std::string Folder(const std::string& name) {
    std::filesystem::create_directories(root_ + "/" + name);
    return root_ + "/" + name;
  }

  static void Write(const std::string& folder, const std::string& file,
                    const std::string& text) {
    std::ofstream(folder + "/" + file) << text;
  }

  static RunData Read(const std::string& folder) {
    absl::StatusOr<RunData> run = ReadRun(folder);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }

  static std::vector<int> StepsOf(const RunData& run) {
    std::vector<int> steps;
    for (const Json& step : run.steps) steps.push_back(step["step"]);
    return steps;
  }

  std::string root_ = testing::TempDir() + "/run_data_test";
};

TEST_F(RunDataTest, ReadsAWholeRun) {
  const std::string folder = Folder("digits/RUN_1");
  Write(folder, "metrics.jsonl",
        "{\"kind\":\"header\",\"schema\":1}\n"
        "{\"kind\":\"step\",\"step\":0,\"loss\":1.5}\n"
        "{\"kind\":\"epoch\",\"split\":\"valid\",\"epoch\":0,\"step\":9}\n"
        "{\"kind\":\"event\",\"name\":\"signal\",\"step\":9}\n"
        "{\"kind\":\"of another version\"}\n");
  Write(folder, "result.json", "{\"exit_reason\":\"done\"}");
  Write(folder, "plan.json", "{\"plugins\":[]}");
  Write(folder, "recipe.yaml", "a: {b: 0.1, c: [1, 2]}\nd: text\ne: {}\n");
  const RunData run = Read(folder);
  EXPECT_EQ(run.name, "digits/RUN_1");
  EXPECT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.epochs.size(), 1u);
  EXPECT_EQ(run.events.size(), 1u);
  EXPECT_EQ(run.result["exit_reason"], "done");
  EXPECT_TRUE(run.plan.is_object());
  EXPECT_THAT(
      run.recipe,
      ElementsAre(testing::Pair("a.b", "0.1"), testing::Pair("a.c", "[1,2]"),
                  testing::Pair("d", "text"), testing::Pair("e", "{}")));
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST_F(RunDataTest, ReadsARunThatWasKilled) {
  const std::string folder = Folder("killed");
  Write(folder, "metrics.jsonl",
        "{\"kind\":\"step\",\"step\":0}\n{\"kind\":\"st");
  Write(folder, "plan.json", "{\"plugins\":");
  Write(folder, "recipe.yaml", "a: [1\n");
  const RunData run = Read(folder);
  EXPECT_EQ(run.name, "killed");
  EXPECT_THAT(StepsOf(run), ElementsAre(0));
  EXPECT_TRUE(run.result.is_null());
  EXPECT_THAT(run.notes, ElementsAre("the last line of metrics.jsonl is cut",
                                     "plan.json is not whole",
                                     "recipe.yaml cannot be read"));
}

TEST_F(RunDataTest, NamesTheLinesThatItCannotRead) {
  const std::string folder = Folder("odd");
  Write(folder, "metrics.jsonl",
        "{\"kind\":\"step\",\"step\":0}\n\x01garbage\n[]\n"
        "{\"kind\":\"step\",\"step\":1,\"loss\":\"nan\"}\n");
  const RunData run = Read(folder);
  EXPECT_THAT(StepsOf(run), ElementsAre(0, 1));
  EXPECT_THAT(run.notes, ElementsAre("metrics.jsonl:2: this line is no JSON",
                                     "metrics.jsonl:3: this line is no JSON"));
}

TEST_F(RunDataTest, KeepsWhatATrainingDidLast) {
  const std::string folder = Folder("resumed");
  const auto step = [](int number, const char* loss) {
    return "{\"kind\":\"step\",\"step\":" + std::to_string(number) +
           ",\"loss\":" + loss + "}\n";
  };
  const auto epoch = [](const char* split, int number, int step) {
    return std::string("{\"kind\":\"epoch\",\"split\":\"") + split +
           "\",\"epoch\":" + std::to_string(number) +
           ",\"step\":" + std::to_string(step) + "}\n";
  };
  Write(folder, "metrics.jsonl",
        step(10, "1") + step(20, "1") + epoch("train", 0, 25) +
            epoch("valid", 0, 25) + step(30, "1") + step(40, "1") +
            epoch("train", 1, 50) +
            // A checkpoint at step 25 is where it goes on.
            step(30, "2") + epoch("train", 1, 50) + epoch("valid", 1, 40) +
            epoch("valid", 1, 50));
  const RunData run = Read(folder);
  EXPECT_THAT(StepsOf(run), ElementsAre(10, 20, 30));
  EXPECT_EQ(run.steps.back()["loss"], 2);
  std::vector<std::string> epochs;
  for (const Json& line : run.epochs) {
    epochs.push_back(line["split"].get<std::string>() + " " +
                     line["step"].dump());
  }
  EXPECT_THAT(epochs, ElementsAre("train 25", "valid 25", "train 50",
                                  "valid 40", "valid 50"));
}

TEST_F(RunDataTest, RefusesAFolderWithoutARun) {
  EXPECT_FALSE(ReadRun(Folder("empty")).ok());
  EXPECT_THAT(std::string(ReadRun("/nowhere").status().message()),
              HasSubstr("/nowhere is no run's folder"));
}

TEST_F(RunDataTest, FindsTheRunsOfAnExperiment) {
  for (const char* name : {"e/RUN_2", "e/RUN_1", "e/other"}) {
    Write(Folder(name), "metrics.jsonl", "");
  }
  Folder("e/RUN_3");
  EXPECT_THAT(FindRuns(root_ + "/e"),
              ElementsAre(root_ + "/e/RUN_1", root_ + "/e/RUN_2"));
  EXPECT_THAT(FindRuns(root_ + "/e/other"), ElementsAre(root_ + "/e/other"));
  EXPECT_THAT(FindRuns("/nowhere"), IsEmpty());
}

TEST_F(RunDataTest, NumbersRunsOfTheSameName) {
  std::vector<RunData> runs(3);
  runs[0].name = runs[1].name = "a";
  runs[2].name = "b";
  MakeNamesUnique(runs);
  EXPECT_EQ(runs[0].name, "a");
  EXPECT_EQ(runs[1].name, "a (2)");
  EXPECT_EQ(runs[2].name, "b");
}

TEST(ThinOut, KeepsEverySpike) {
  std::vector<Json> steps;
  for (int i = 0; i < 10000; ++i) {
    steps.push_back({{"step", i}, {"loss", i == 7777 ? 99.0 : 1.0 / (i + 1)}});
  }
  steps[5001]["loss"] = "nan";
  const std::vector<Json> thin = ThinOut(steps, 100);
  EXPECT_LE(thin.size(), 101u);
  EXPECT_GE(thin.size(), 50u);
  EXPECT_EQ(thin.back(), steps.back());
  const auto has = [&thin](const Json& step) {
    return std::find(thin.begin(), thin.end(), step) != thin.end();
  };
  EXPECT_TRUE(has(steps[7777]));
  EXPECT_TRUE(has(steps[5001]));
  for (size_t i = 1; i < thin.size(); ++i) {
    EXPECT_LT(thin[i - 1]["step"], thin[i]["step"]);
  }
  EXPECT_EQ(ThinOut(thin, 1000), thin);
}

}  // namespace
}  // namespace slipway::html
