#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "trainer/report/testing/read_events.h"

namespace slipway {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two epochs of six steps.
std::vector<std::string> ShortRun(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      "--recipe=digits_resnet", "epochs=2",
      "training_hyperparams.max_train_batches=6",
      "training_hyperparams.max_valid_batches=1",
      "training_hyperparams.log_every=2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<int64_t> StepsOf(const std::string& run, const std::string& tag) {
  std::vector<int64_t> steps;
  const std::vector<ScalarPoint> points = ReadScalars(run)[tag];
  for (const ScalarPoint& point : points) steps.push_back(point.step);
  return steps;
}

std::vector<json> OfSplit(const std::string& run, const std::string& split) {
  std::vector<json> lines;
  std::istringstream text(ReadText(run + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    json object = json::parse(line);
    if (object.value("split", "") == split) lines.push_back(std::move(object));
  }
  return lines;
}

TEST(Reports, LeaveTensorBoardsFileWithSuperGradientsTags) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunTrainer(ShortRun({"--run_dir=" + folder + "/run"}), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* tag :
       {"train_crossentropyloss", "train_accuracy", "train_inference_time",
        "valid_crossentropyloss", "valid_accuracy", "lr"}) {
    EXPECT_THAT(StepsOf(folder + "/run", tag), ElementsAre(0, 1)) << tag;
  }
  EXPECT_THAT(StepsOf(folder + "/run", "step/loss"),
              ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Reports, SayWhereTheTimeWentAndHowMuchMemoryThereWas) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunTrainer(ShortRun({"--run_dir=" + folder + "/run"}), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("\n  time   "));
  EXPECT_THAT(run.err, HasSubstr("compute "));
  EXPECT_THAT(run.err, HasSubstr("peak memory "));
  double trained = 0, seconds = 0;
  for (const json& line : OfSplit(folder + "/run", "train")) {
    for (const auto& [phase, time] : line["time"].items())
      trained += double(time);
    seconds += double(line["seconds"]);
    EXPECT_GT(line["time"]["forward"], 0);
    EXPECT_GT(line["time"]["backward"], 0);
  }
  EXPECT_LE(trained, seconds);
  const json result = json::parse(ReadText(folder + "/run/result.json"));
  for (const char* phase : {"forward", "evaluation", "saving"}) {
    EXPECT_GT(result["time"][phase], 0) << phase;
  }
  double all = 0;
  for (const auto& [phase, time] : result["time"].items()) all += double(time);
  EXPECT_LE(all, double(result["seconds"]) + 1e-3);
}

TEST(Reports, ReachAPluginsReporter) {
  const std::string folder = EmptyFolder();
  const std::string card = folder + "/card.txt";
  const Outcome run = RunTrainer(
      ShortRun(
          {"--plugin_path=" + RunfilePath("tests/reports"),
           "training_hyperparams.sg_logger={postcard: {to: " + card + "}}"}),
      folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadText(card), "train 0\nvalid 0\ntrain 1\nvalid 1\ndone\n");
}

TEST(Reports, GoOnWithoutAReporterThatThrows) {
  const std::string folder = EmptyFolder();
  const std::string card = folder + "/card.txt";
  const Outcome run = RunTrainer(
      ShortRun({"--plugin_path=" + RunfilePath("tests/reports"),
                "training_hyperparams.sg_logger={postcard: {to: " + card +
                    ", fail_at: 1}}"}),
      folder);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadText(card), "train 0\nvalid 0\n");
  EXPECT_THAT(run.err, HasSubstr("this reporter is left out from now on"));
}

TEST(Reports, RefuseALoggerThatNobodyHas) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(
      ShortRun({"training_hyperparams.sg_logger=wandb_sg_logger"}), folder);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no reporter \"wandb_sg_logger\""));
}

// --- profiling ---------------------------------------------------------------

std::set<std::string> NamesIn(const json& trace) {
  std::set<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    names.insert(event.value("name", ""));
  }
  return names;
}

int Count(const json& trace, const std::string& name) {
  int count = 0;
  for (const json& event : trace["traceEvents"]) {
    count += event.value("name", "") == name && event.value("ph", "") == "X";
  }
  return count;
}

TEST(Profile, HasTheCoresRangesAndTheHooks) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunTrainer({"--recipe=digits_all_plugins", "epochs=1", "--profile=2-4",
                  "training_hyperparams.max_train_batches=8",
                  "training_hyperparams.max_valid_batches=1",
                  "--run_dir=" + folder + "/run"},
                 folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("a trace of the steps was written"));
  const json trace =
      json::parse(ReadText(folder + "/run/trace_steps_2-4.json"));
  for (const char* phase :
       {"data", "forward", "loss", "backward", "optimizer", "metrics"}) {
    EXPECT_GE(Count(trace, phase), 3) << phase;
  }
  EXPECT_EQ(Count(trace, "ema AfterOptimizer"), 3);
  EXPECT_THAT(NamesIn(trace), Contains(HasSubstr("convolution")));
}

TEST(Profile, EndsWithTheTraining) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(
      ShortRun({"epochs=1", "--profile=100", "--run_dir=" + folder + "/run"}),
      folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json trace =
      json::parse(ReadText(folder + "/run/trace_steps_2-5.json"));
  EXPECT_GE(Count(trace, "evaluation"), 1);
  EXPECT_GE(Count(trace, "saving"), 1);
}

// --- memory ------------------------------------------------------------------

TEST(Memory, IsPlannedInADryRun) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(
      ShortRun({"--dry_run", "--format=json", "batch_size=32", "ema=True"}),
      folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre());
  const json document = json::parse(run.out);
  const json memory = document["memory"];
  const double parameters = double(document["model"]["parameters"]) * 4;
  EXPECT_EQ(memory["parameters"], parameters);
  EXPECT_EQ(memory["gradients"], parameters);
  EXPECT_GE(memory["optimizer"], parameters);  // momentum
  EXPECT_GE(memory["plugins"], parameters);    // the average
  EXPECT_EQ(memory["batch_size"], 32);
  EXPECT_GT(memory["activations"], 0);
  EXPECT_GT(memory["available"], memory["total"]);
  EXPECT_GT(memory["largest_batch"], 32);
}

TEST(Memory, PlannedIsWhatATrainingTakes) {
  const std::string folder = EmptyFolder();
  const std::vector<std::string> recipe = {"batch_size=512"};
  std::vector<std::string> dry = ShortRun(recipe);
  dry.insert(dry.end(), {"--dry_run", "--format=json"});
  const Outcome plan = RunTrainer(dry, folder);
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const double total = json::parse(plan.out)["memory"]["total"];
  std::vector<std::string> real = ShortRun(recipe);
  real.push_back("--run_dir=" + folder + "/run");
  ASSERT_EQ(RunTrainer(real, folder).exit_code, 0);
  const double peak =
      json::parse(ReadText(folder + "/run/result.json"))["peak_rss_bytes"];
  EXPECT_GT(total, 0.65 * peak);
  EXPECT_LT(total, 1.4 * peak);
}

// --- the page ----------------------------------------------------------------

TEST(Page, ComparesTwoRuns) {
  const std::string folder = EmptyFolder();
  for (const char* lr : {"0.05", "0.1"}) {
    const Outcome run =
        RunTrainer(ShortRun({std::string("lr=") + lr,
                             "--run_dir=" + folder + "/lr_" + lr}),
                   folder);
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  const Outcome report =
      Process(RunfilePath("trainer/report/html/report"),
              {"lr_0.05", "lr_0.1", "--out=page.html"}, folder)
          .Wait();
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.err, HasSubstr("report of 2 runs: "));
  const std::string page = ReadText(folder + "/page.html");
  for (const char* text :
       {"lr_0.05", "lr_0.1", "training_hyperparams.initial_lr",
        "valid Accuracy", "id=time", "\"loss\":["}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(Page, RefusesWhatIsNoRun) {
  const std::string folder = EmptyFolder();
  const auto report = [&folder](std::vector<std::string> arguments) {
    return Process(RunfilePath("trainer/report/html/report"), arguments, folder)
        .Wait();
  };
  EXPECT_EQ(report({}).exit_code, 2);
  const Outcome missing = report({"missing"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("\"missing\" holds no run"));
  const Outcome unknown = report({"--uot=x"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("out"));
  EXPECT_EQ(report({"--help"}).exit_code, 0);
  EXPECT_THAT(FilesIn(folder), Not(Contains("report.html")));
}

}  // namespace
}  // namespace slipway
