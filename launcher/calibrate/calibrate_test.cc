#include "launcher/calibrate/calibrate.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> TrialsOf(const std::string& machine) {
  std::vector<std::string> texts;
  for (const Trial& trial :
       SensibleTrials(*ReadTopology({.topology = machine}))) {
    texts.push_back(absl::StrCat(trial.ranks, "x", trial.threads));
  }
  return texts;
}

TEST(SensibleTrials, FollowTheMachine) {
  EXPECT_THAT(TrialsOf("core:1 pu:2"), ElementsAre("1x1"));
  EXPECT_THAT(TrialsOf("core:2 pu:1"), ElementsAre("1x2", "2x1"));
  EXPECT_THAT(TrialsOf("core:8 pu:2"),
              ElementsAre("1x8", "1x4", "2x4", "2x2", "4x2", "8x1"));
  EXPECT_THAT(
      TrialsOf("pack:2 [numa] core:4 pu:1"),
      ElementsAre("1x8", "1x4", "1x4", "1x2", "2x4", "2x2", "4x2", "8x1"));
}

TEST(SensibleTrials, SayHowToDoTheSame) {
  const std::vector<Trial> trials =
      SensibleTrials(*ReadTopology({.topology = "pack:2 [numa] core:4 pu:1"}));
  EXPECT_EQ(trials[0].flags, "--num_processes=1 --allow_straddle");
  EXPECT_EQ(trials[4].flags, "--num_processes=2");
  EXPECT_EQ(trials[5].flags, "--cpu_for_each_process=\"0-1;4-5\"");
}

// metrics.jsonl with steps at these times.
std::string Metrics(const std::vector<double>& times) {
  std::string text = "{\"kind\":\"header\",\"schema\":1}\n";
  for (double time : times) {
    absl::StrAppend(&text, "{\"kind\":\"step\",\"time\":", time, "}\n");
  }
  return text + "{\"kind\":\"epoch\",\"time\":1e9}\n{\"torn";
}

TEST(SecondsPerStep, IsTheMedianOfTheLastTen) {
  EXPECT_DOUBLE_EQ(SecondsPerStep(Metrics({1, 2, 3, 4, 100})), 1);
  std::vector<double> times = {0, 50, 100, 150};
  for (int i = 1; i <= 10; ++i) times.push_back(150 + 2 * i);
  EXPECT_DOUBLE_EQ(SecondsPerStep(Metrics(times)), 2);
  EXPECT_EQ(SecondsPerStep(Metrics({1, 2, 3})), 0);
  EXPECT_EQ(SecondsPerStep(""), 0);
}

TEST(Trials, ShowTheFastest) {
  std::vector<Trial> trials = {
      {.ranks = 1, .threads = 2, .flags = "a", .samples_per_second = 10},
      {.ranks = 2, .threads = 1, .flags = "b", .samples_per_second = 12.34},
      {.ranks = 4, .threads = 1, .flags = "c", .failure = "no memory"}};
  EXPECT_EQ(Best(trials), &trials[1]);
  EXPECT_EQ(FormatTrials(trials),
            "ranks  threads  samples/s    flags\n"
            "1      2        10.0         a\n"
            "2      1        12.3         b   <- fastest\n"
            "4      1        -            no memory\n");
  const nlohmann::json list = ToJson(trials);
  EXPECT_EQ(list[1]["samples_per_second"], 12.34);
  EXPECT_TRUE(list[2]["samples_per_second"].is_null());
  EXPECT_EQ(list[2]["failure"], "no memory");
  trials.resize(1);
  trials[0] = {.failure = "it was stopped"};
  EXPECT_EQ(Best(trials), nullptr);
  EXPECT_THAT(FormatTrials(trials), HasSubstr("it was stopped"));
}

}  // namespace
}  // namespace slipway::launcher
