// The launcher around the trainer: what it reads of recipes, and what it hands
// over.
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Outcome RunLauncher(const std::vector<std::string>& arguments,
                    const std::string& folder,
                    const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> environment = more;
  environment["XDG_CACHE_HOME"] = folder + "/cache";
  return Process(RunfilePath("launcher/launcher"), arguments, folder,
                 environment)
      .Wait();
}

// Of a run that takes a second.
const std::vector<std::string>& ShortRun() {
  static const auto* const arguments = new std::vector<std::string>{
      "--recipe=digits_resnet", "epochs=1", "--run_dir=run",
      "training_hyperparams.max_train_batches=4"};
  return *arguments;
}

std::vector<std::string> Launch(std::vector<std::string> flags,
                                const std::vector<std::string>& more = {}) {
  flags.push_back("--");
  flags.insert(flags.end(), ShortRun().begin(), ShortRun().end());
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

TEST(Launcher, TrainsWithTheTrainerBesideIt) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunLauncher(Launch({"--log_dir=logs"}), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesIn(folder + "/run"), Contains("result.json"));
  const json result = json::parse(ReadText(folder + "/run/result.json"));
  const json report =
      json::parse(ReadText(folder + "/logs/launch_report.json"));
  EXPECT_EQ(report["plan"]["plugin_plan"]["hash"], result["plan_hash"]);
  EXPECT_EQ(report["plan"]["ranks"][0]["env"]["SLIPWAY_PLAN_HASH"],
            result["plan_hash"]);
}

TEST(Launcher, StartsNothingThatCannotTrain) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunLauncher(
      Launch({"--num_proceses=2"},
             {"+plugins.no_such_plugin={}", "training_hyperparams.emma=1"}),
      folder);
  EXPECT_EQ(run.exit_code, 2);
  // Everything at once: the flag, and the recipe.
  EXPECT_THAT(run.err, HasSubstr("did you mean \"num_processes\"?"));
  EXPECT_THAT(run.err, HasSubstr("emma"));
  EXPECT_THAT(FilesIn(folder), Not(Contains("run")));
  EXPECT_THAT(FilesIn(folder), Not(Contains("cache")));
}

TEST(Launcher, TellsConflictsOfThePlanBeforehand) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunLauncher(Launch({}, {"+plugins.no_such_plugin={}"}), folder);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no_such_plugin"));
  EXPECT_THAT(FilesIn(folder), Not(Contains("run")));
}

TEST(Launcher, ShowsTheEffectiveBatch) {
  const std::string folder = EmptyFolder();
  const std::vector<std::string> machine = {
      "plan", "--num_processes=4", "--topology=pack:2 [numa] core:4 pu:1"};
  const Outcome text = RunLauncher(Launch(machine), folder);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("batch: 256 samples a step (4 ranks of 64)"));
  EXPECT_THAT(text.out, HasSubstr("plan "));
  std::vector<std::string> as_json = machine;
  as_json.push_back("--format=json");
  const json plan = json::parse(RunLauncher(Launch(as_json), folder).out);
  EXPECT_EQ(plan["batch"]["effective"], 256);
  EXPECT_EQ(plan["plugin_plan"]["hash"].get<std::string>().size(), 64u);
}

TEST(Launcher, PlansWhereTheTrainerWouldOnlyShow) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunLauncher(Launch({}, {"--dry_run"}), folder);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("batch: 64 samples a step"));
  EXPECT_THAT(FilesIn(folder), Not(Contains("run")));
}

// lr_warmup's part in what is planned for two ranks, or null.
json PlannedWarmup(const std::vector<std::string>& flags,
                   const std::vector<std::string>& more) {
  std::vector<std::string> all = {"plan", "--num_processes=2",
                                  "--topology=pack:1 [numa] core:2 pu:1",
                                  "--format=json"};
  all.insert(all.end(), flags.begin(), flags.end());
  const Outcome run = RunLauncher(Launch(all, more), EmptyFolder());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json plan = json::parse(run.out);
  for (const json& plugin : plan["plugin_plan"]["plugins"]) {
    if (plugin["id"] == "lr_warmup") return plugin;
  }
  return nullptr;
}

TEST(Launcher, RaisesRatesUnlessToldNotTo) {
  const json planned = PlannedWarmup({}, {});
  ASSERT_NE(planned, nullptr);
  EXPECT_EQ(planned["because"], "recipe_key");
  EXPECT_EQ(planned["config"]["auto_lr"], true);
  EXPECT_EQ(PlannedWarmup({"--auto_lr=false"}, {}), nullptr);
  EXPECT_EQ(PlannedWarmup({}, {"+training_hyperparams.auto_lr=False"}),
            nullptr);
  EXPECT_EQ(PlannedWarmup({}, {"+multi_gpu=DDP", "+num_gpus=2"}), nullptr);
  EXPECT_EQ(PlannedWarmup(
                {"--auto_lr=false"},
                {"+training_hyperparams.auto_lr=True"})["config"]["auto_lr"],
            true);
}

// Where they are installed; environment_test.cc says what happens elsewhere.
TEST(Launcher, TrainsWithOtherAllocators) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer is an allocator itself";
#endif
  for (const char* name : {"jemalloc", "tcmalloc"}) {
    const std::string folder = EmptyFolder();
    const Outcome run =
        RunLauncher(Launch({absl::StrCat("--allocator=", name)}), folder);
    if (run.exit_code == 2) {
      EXPECT_THAT(run.err, HasSubstr("apt-get install lib"));
      continue;
    }
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, Not(HasSubstr("<jemalloc>")));
  }
}

TEST(Launcher, GivesUpWhenARestartFailsAsWell) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunLauncher(Launch({"--max_restarts=1", "--log_dir=logs"}, {"epochs=2"}),
                  folder, {{"SLIPWAY_FAULT", "step:2"}});
  EXPECT_EQ(run.exit_code, 128 + SIGKILL);
  const json report =
      json::parse(ReadText(folder + "/logs/launch_report.json"));
  EXPECT_EQ(report["attempts"].size(), 2u);
}

TEST(Launcher, SendsQuestionsToTheTrainer) {
  const Outcome run = RunLauncher({"--", "--help"}, EmptyFolder());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("bazel run //trainer -- --help"));
}

}  // namespace
}  // namespace slipway
