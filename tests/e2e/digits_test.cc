// The shipped recipes, as a user runs them.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<json> Lines(const std::string& path) {
  std::vector<json> lines;
  std::istringstream text(ReadText(path));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

std::vector<json> OfKind(const std::vector<json>& lines,
                         const std::string& kind) {
  std::vector<json> found;
  for (const json& line : lines) {
    if (line["kind"] == kind) found.push_back(line);
  }
  return found;
}

// Small and quick: three epochs of ten batches.
std::vector<std::string> ShortRun() {
  return {"--recipe=digits_resnet", "epochs=3",
          "training_hyperparams.max_train_batches=10",
          "training_hyperparams.max_valid_batches=1",
          "training_hyperparams.log_every=5"};
}

TEST(Digits, LeaveARunFolderWithEverything) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(ShortRun(), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string files = OnlyRun(folder, "digits_resnet");
  EXPECT_THAT(
      FilesIn(files),
      ElementsAre(".ckpt_latest.pth.previous", "average_model.pth", "averaging",
                  "ckpt_best.pth", "ckpt_latest.pth",
                  StartsWith("events.out.tfevents."), "metrics.jsonl",
                  "plan.json", "plan.txt", "recipe.yaml", "result.json"));
  EXPECT_TRUE(std::filesystem::equivalent(
      folder + "/checkpoints/digits_resnet/latest", files));
  EXPECT_THAT(ReadText(files + "/recipe.yaml"), HasSubstr("max_epochs: 3"));
}

TEST(Digits, WriteMetricsLineByLine) {
  const std::string folder = EmptyFolder();
  ASSERT_EQ(RunTrainer(ShortRun(), folder).exit_code, 0);
  const std::vector<json> lines =
      Lines(OnlyRun(folder, "digits_resnet") + "/metrics.jsonl");
  EXPECT_EQ(lines[0], json({{"kind", "header"}, {"schema", 1}}));
  const std::vector<json> steps = OfKind(lines, "step");
  std::vector<int> numbers;
  for (const json& step : steps) {
    numbers.push_back(step["step"]);
    EXPECT_GT(step["time"], 1e9);
    EXPECT_GT(step["samples_per_second"], 0);
    EXPECT_TRUE(step["loss"].is_number());
    EXPECT_TRUE(step["lr"]["default"].is_number());
    EXPECT_TRUE(step["data_wait"].is_number());
  }
  EXPECT_THAT(numbers, ElementsAre(0, 5, 10, 15, 20, 25));
  EXPECT_GT(steps.front()["loss"], steps.back()["loss"]);
  const std::vector<json> epochs = OfKind(lines, "epoch");
  ASSERT_EQ(epochs.size(), 6u);
  EXPECT_EQ(epochs[0]["split"], "train");
  EXPECT_EQ(epochs[1]["split"], "valid");
  EXPECT_TRUE(epochs[1]["metrics"]["Accuracy"].is_number());
  EXPECT_TRUE(epochs[1]["metrics"]["Top5"].is_number());
  EXPECT_TRUE(epochs[1]["metrics"]["CrossEntropyLoss"].is_number());
}

TEST(Digits, TellTheResult) {
  const std::string folder = EmptyFolder();
  ASSERT_EQ(RunTrainer(ShortRun(), folder).exit_code, 0);
  const std::string files = OnlyRun(folder, "digits_resnet");
  const json result = json::parse(ReadText(files + "/result.json"));
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["exit_code"], 0);
  EXPECT_EQ(result["recipe"], "digits_resnet");
  EXPECT_EQ(result["epochs"], 3);
  EXPECT_EQ(result["steps"], 30);
  EXPECT_EQ(result["samples"], 30 * 64);
  EXPECT_EQ(result["checkpoints"]["latest"], "ckpt_latest.pth");
  EXPECT_EQ(result["checkpoints"]["average"], "average_model.pth");
  EXPECT_EQ(result["metrics"]["best"]["name"], "Accuracy");
  const json plan = json::parse(ReadText(files + "/plan.json"));
  EXPECT_EQ(result["plan_hash"], plan["hash"]);
  EXPECT_EQ(plan["lr"][0]["group"], "default");
  EXPECT_EQ(plan["lr"][0]["steps"].back(), 29);
}

TEST(Digits, SaveACheckpointOfTheWholeTraining) {
  const std::string folder = EmptyFolder();
  ASSERT_EQ(RunTrainer(ShortRun(), folder).exit_code, 0);
  const absl::StatusOr<Checkpoint> checkpoint =
      ReadCheckpoint(OnlyRun(folder, "digits_resnet") + "/ckpt_latest.pth");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->epoch, 3);
  EXPECT_EQ(checkpoint->step, 30);
  EXPECT_EQ(checkpoint->net[0].first, "conv1.weight");
  EXPECT_FALSE(checkpoint->optimizer.empty());
}

TEST(Digits, AreTheSameTwice) {
  std::vector<json> results;
  for (const char* name : {"a", "b"}) {
    const std::string folder = EmptyFolder();
    std::vector<std::string> arguments = ShortRun();
    arguments.push_back("--run_dir=" + folder + "/" + name);
    ASSERT_EQ(RunTrainer(arguments, folder).exit_code, 0);
    results.push_back(
        json::parse(ReadText(folder + "/" + name + "/result.json"))["metrics"]);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Digits, TrainWithAllPlugins) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunTrainer({"--recipe=digits_all_plugins", "epochs=3", "--plugin_profile",
                  "training_hyperparams.max_train_batches=5"},
                 folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("AfterOptimizer"));
  const std::string files = OnlyRun(folder, "digits_all_plugins");
  const json plan = json::parse(ReadText(files + "/plan.json"));
  std::vector<std::string> ids;
  for (const json& plugin : plan["plugins"]) ids.push_back(plugin["id"]);
  for (const char* id : {"amp", "ema", "lr_warmup"}) {
    EXPECT_THAT(ids, Contains(id));
  }
  const absl::StatusOr<Checkpoint> checkpoint =
      ReadCheckpoint(files + "/ckpt_latest.pth");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_FALSE(checkpoint->extra_nets.empty());
  EXPECT_EQ(checkpoint->extra_nets[0].first, "ema_net");
}

TEST(Digits, StartNothingInADryRun) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> arguments = ShortRun();
  arguments.insert(arguments.end(), {"--dry_run", "--format=json"});
  const Outcome run = RunTrainer(arguments, folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre());
  const json document = json::parse(run.out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["epochs"], 3);
  EXPECT_EQ(document["steps_per_epoch"], 10);
  EXPECT_EQ(document["lr"][0]["group"], "default");
  EXPECT_EQ(document["lr"][0]["values"].size(), 30u);
  EXPECT_EQ(document["lr"][0]["values"][0], 0.05);
  EXPECT_EQ(document["model"]["architecture"], "custom_resnet_cifar");
  EXPECT_GT(document["model"]["parameters"], 1000000);
  EXPECT_EQ(document["recipe"]["training_hyperparams"]["max_epochs"], 3);
  EXPECT_TRUE(document["plan"]["plugins"].is_array());
}

TEST(Digits, PrintTheRecipe) {
  const std::string folder = EmptyFolder();
  const Outcome yaml = RunTrainer(
      {"--recipe=digits_resnet", "--print_recipe=yaml", "lr=0.25"}, folder);
  EXPECT_EQ(yaml.exit_code, 0) << yaml.err;
  EXPECT_THAT(yaml.out, HasSubstr("initial_lr: 0.25"));
  const Outcome as_json =
      RunTrainer({"--recipe=digits_resnet", "--print_recipe=json"}, folder);
  EXPECT_EQ(json::parse(as_json.out)["architecture"], "custom_resnet_cifar");
  EXPECT_THAT(FilesIn(folder), ElementsAre());
}

TEST(Digits, AreListedInTheHelp) {
  const Outcome run = RunTrainer({"--help"}, EmptyFolder());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("digits_resnet: Handwritten digits"));
  EXPECT_THAT(run.err, HasSubstr("--recipe=NAME|FILE"));
}

// Waits until the run has written a step; false after half a minute.
bool WaitForFirstStep(const std::string& metrics) {
  for (int i = 0; i < 300; ++i) {
    if (ReadText(metrics).find("\"step\",") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST(Digits, EndSavedOnASignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string folder = EmptyFolder();
    const std::string run_dir = folder + "/run";
    Process process(
        TrainerPath(),
        {"--recipe=digits_resnet", "epochs=1000", "--run_dir=" + run_dir,
         "training_hyperparams.log_every=1"},
        folder);
    ASSERT_TRUE(WaitForFirstStep(run_dir + "/metrics.jsonl"));
    process.Signal(signal);
    const Outcome run = process.Wait();
    EXPECT_EQ(run.exit_code, 128 + signal) << run.err;
    const json result = json::parse(ReadText(run_dir + "/result.json"));
    EXPECT_EQ(result["exit_reason"], "signal");
    EXPECT_EQ(result["exit_code"], 128 + signal);
    const absl::StatusOr<Checkpoint> checkpoint =
        ReadCheckpoint(run_dir + "/ckpt_latest.pth");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ(checkpoint->step, result["steps"]);
    EXPECT_GT(checkpoint->step, 0);
  }
}

TEST(Digits, SayNothingInSilentMode) {
  std::vector<std::string> arguments = ShortRun();
  arguments.push_back("++training_hyperparams.silent_mode=True");
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(arguments, folder);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out + run.err, "");
  arguments.push_back("lr=1e30");
  const Outcome failure = RunTrainer(arguments, folder);
  EXPECT_EQ(failure.exit_code, 1);
  EXPECT_THAT(failure.err, HasSubstr("error: the training failed"));
}

TEST(Digits, MeanPathsFromWhereTheUserIs) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> arguments = ShortRun();
  arguments.push_back("--run_dir=here");
  const Outcome run =
      RunTrainer(arguments, "/", {{"BUILD_WORKING_DIRECTORY", folder}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre("here"));
}

}  // namespace
}  // namespace slipway
