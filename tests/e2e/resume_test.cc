// Interrupted trainings go on as if nothing had happened: with the plugins ema,
// lr_warmup and amp, in processes of their own.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/runs.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Outcome Train(const Arguments& arguments,
              const std::map<std::string, std::string>& environment = {}) {
  return RunTrainer(arguments, testing::TempDir(), environment);
}

// The latest checkpoint in `run_dir`, as messages have it.
std::string Normal(const std::string& run_dir) {
  return (fs::path(run_dir) / "ckpt_latest.pth").lexically_normal();
}

// Steps of metrics.jsonl with their losses; a failure if one is there twice.
std::map<int, double> Losses(const std::string& run_dir) {
  std::map<int, double> losses;
  for (const json& line : LinesOf(run_dir, "step")) {
    const bool first = losses.emplace(line["step"], line["loss"]).second;
    EXPECT_TRUE(first) << "step " << line["step"] << " twice";
  }
  return losses;
}

// "train 0", "valid 0", ... with their metrics.
std::vector<std::pair<std::string, json>> Epochs(const std::string& run_dir) {
  std::vector<std::pair<std::string, json>> epochs;
  for (const json& line : LinesOf(run_dir, "epoch")) {
    epochs.emplace_back(absl::StrCat(line["split"].get<std::string>(), " ",
                                     line["epoch"].get<int>()),
                        line["metrics"]);
  }
  return epochs;
}

class Resume : public testing::Test {
 protected:
  void SetUp() override { folder_ = EmptyFolder(); }
  std::string Folder(const std::string& name) const {
    return folder_ + "/" + name;
  }

  // The same training, uninterrupted.
  std::string Whole(const Arguments& more = {}) const {
    const Outcome run = Train(SmallRun(Folder("whole"), more));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Folder("whole");
  }

  // Resumes what lies in `run_dir` and compares it with the whole.
  void ExpectGoesOn(const std::string& run_dir, const Arguments& more = {}) {
    Arguments again = SmallRun(run_dir, more);
    again.push_back("resume=True");
    const Outcome run = Train(again);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ExpectSameRuns(run_dir, Folder("whole"));
    EXPECT_EQ(Losses(run_dir), Losses(Folder("whole")));
    EXPECT_EQ(Epochs(run_dir), Epochs(Folder("whole")));
    const json result = ResultOf(run_dir), whole = ResultOf(Folder("whole"));
    for (const char* key : {"exit_reason", "epochs", "steps", "samples",
                            "metrics", "checkpoints", "plan_hash"}) {
      EXPECT_EQ(result[key], whole[key]) << key;
    }
  }

  std::string folder_;
};

TEST_F(Resume, EqualsTheUninterruptedRunAfterAKillAtAnyStep) {
  Whole();
  for (const int step : {3, 6, 7, 11}) {
    SCOPED_TRACE(absl::StrCat("killed at step ", step));
    const std::string run_dir = Folder(absl::StrCat("killed_", step));
    const Outcome run = Train(SmallRun(
        run_dir, {absl::StrCat("+plugins.interrupts.kill_at=", step)}));
    EXPECT_EQ(run.exit_code, 128 + SIGKILL);
    ExpectGoesOn(run_dir);
    const json result = ResultOf(run_dir);
    const json& from = result["resumed_from"];
    // The save of the step before may have been on its way, not the one before
    // that: there is none yet at the first.
    if (step < 5 && from.is_null()) continue;
    EXPECT_EQ(from["path"], Normal(run_dir));
    EXPECT_LE(from["step"], step);
    EXPECT_GE(from["step"], step - 4);
  }
}

struct SignalCase {
  const char* hook;
  Arguments more = {};
};

// Beside those of an ordinary step: in the middle of an epoch.
TEST_F(Resume, EqualsTheUninterruptedRunAfterASignalInAnyPhase) {
  const std::vector<SignalCase> cases = {
      {"FitBegin"},
      {"AfterOptimizer"},
      {"AfterOptimizer",
       {"training_hyperparams.batch_accumulate=2",
        "training_hyperparams.accumulate=mean",
        "training_hyperparams.max_train_batches=9"}},
      {"AfterOptimizer",
       {"training_hyperparams.batch_accumulate=4",
        "training_hyperparams.accumulate=sum",
        "training_hyperparams.max_train_batches=9"}},
      {"EvalBatchEnd"},
      {"EpochEnd"},
  };
  int number = 0;
  for (const SignalCase& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.hook, " ", number));
    fs::remove_all(Folder("whole"));
    Whole(c.more);
    const std::string run_dir = Folder(absl::StrCat("stopped_", number++));
    Arguments stopped = c.more;
    stopped.push_back(absl::StrCat("+plugins.interrupts.signal=", c.hook));
    const Outcome run = Train(SmallRun(run_dir, stopped));
    EXPECT_EQ(run.exit_code, 143) << run.err;
    EXPECT_EQ(ResultOf(run_dir)["exit_reason"], "signal");
    ExpectGoesOn(run_dir, c.more);
  }
}

// O02 of tests/bug_reports.md: evaluation runs with the average in the model's
// place.
TEST_F(Resume, FindsRawWeightsAfterASignalInValidation) {
  const std::string averaged = Folder("averaged"), plain = Folder("plain");
  ASSERT_EQ(
      Train(SmallRun(averaged, {"+plugins.interrupts.signal=EvalBatchEnd"}))
          .exit_code,
      143);
  ASSERT_EQ(Train(SmallRun(plain, {"+plugins.interrupts.signal=EvalBatchEnd",
                                   "ema=False"}))
                .exit_code,
            143);
  const auto with = Contents(LatestOf(averaged));
  for (const auto& [path, bytes] : Contents(LatestOf(plain))) {
    if (!path.starts_with("net/")) continue;
    EXPECT_TRUE(with.at(path) == bytes) << path;
  }
  EXPECT_FALSE(with.at("net/conv1.weight") == with.at("ema_net/conv1.weight"));
}

TEST_F(Resume, KeepsTheLossScaleAndItsTracker) {
  const Arguments fp16 = {"+plugins.amp.dtype=fp16", "+plugins.amp.force=True"};
  Whole(fp16);
  const std::string run_dir = Folder("killed");
  Arguments killed = fp16;
  killed.push_back("+plugins.interrupts.kill_at=5");
  EXPECT_EQ(Train(SmallRun(run_dir, killed)).exit_code, 128 + SIGKILL);
  EXPECT_EQ(Contents(LatestOf(run_dir)).count("scaler/growth_tracker"), 1u);
  ExpectGoesOn(run_dir, fp16);
}

// --- which run ---------------------------------------------------------------

// A run beneath checkpoints/, as users have them.
Arguments InCheckpoints(const Arguments& more = {}) {
  Arguments arguments = SmallRun("");
  std::erase(arguments, "--run_dir=");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(Resume, TakesTheNewestRunThatHasACheckpoint) {
  const Arguments stopped =
      InCheckpoints({"+plugins.interrupts.signal=AfterOptimizer"});
  ASSERT_EQ(RunTrainer(stopped, folder_).exit_code, 143);
  const std::string older = OnlyRun(folder_, "digits_all_plugins");
  ASSERT_EQ(RunTrainer(stopped, folder_).exit_code, 143);
  const std::string experiment = fs::path(older).parent_path();
  fs::create_directories(experiment + "/RUN_99991231_235959_000000");
  const Outcome run = RunTrainer(InCheckpoints({"resume=True"}), folder_);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ResultOf(older)["exit_reason"], "signal");
  const std::string newer = fs::canonical(experiment + "/latest");
  EXPECT_NE(newer, older);
  EXPECT_EQ(ResultOf(newer)["exit_reason"], "done");

  const std::string id = fs::path(older).filename();
  const Outcome named =
      RunTrainer(InCheckpoints({"training_hyperparams.run_id=" + id}), folder_);
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(ResultOf(older)["exit_reason"], "done");

  const Outcome misspelt = RunTrainer(
      InCheckpoints({"training_hyperparams.run_id=" + id.substr(0, 20)}),
      folder_);
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("no run \"" + id.substr(0, 20)));
}

TEST_F(Resume, StartsANewRunFromAnyCheckpoint) {
  const std::string first = Folder("first");
  ASSERT_EQ(Train(SmallRun(first, {"epochs=1"})).exit_code, 0);
  const std::string before = ReadText(first + "/metrics.jsonl");
  const Outcome run =
      Train(SmallRun(Folder("second"),
                     {absl::StrCat("training_hyperparams.resume_path=", first,
                                   "/ckpt_latest.pth")}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadText(first + "/metrics.jsonl"), before);
  EXPECT_EQ(Losses(Folder("second")).begin()->first, 6);
  EXPECT_EQ(ResultOf(Folder("second"))["resumed_from"]["step"], 6);
}

TEST_F(Resume, StartsFromTheBeginningWhereNothingIsSavedYet) {
  Whole();
  const std::string run_dir = Folder("killed");
  EXPECT_EQ(
      Train(SmallRun(run_dir, {"+plugins.interrupts.kill_at=1"})).exit_code,
      128 + SIGKILL);
  Arguments again = SmallRun(run_dir, {"resume=True"});
  const Outcome run = Train(again);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("nothing to resume yet"));
  ExpectSameRuns(run_dir, Folder("whole"));
  EXPECT_EQ(Losses(run_dir), Losses(Folder("whole")));
}

TEST_F(Resume, RefusesWhatItCannotDoByName) {
  const std::string folder = Folder("run");
  struct Case {
    std::string argument;
    const char* told;
  };
  for (const Case& c : std::vector<Case>{
           {"training_hyperparams.resume_path=absent.pth",
            "there is no checkpoint"},
           {"training_hyperparams.run_id=RUN_1", "name two folders"},
           {"+training_hyperparams.resume_from_remote_sg_logger=True",
            "no remote logger"}}) {
    const Outcome run = Train(SmallRun(folder, {c.argument}));
    EXPECT_EQ(run.exit_code, 2) << c.argument;
    EXPECT_THAT(run.err, HasSubstr(c.told));
    EXPECT_FALSE(fs::exists(folder));
  }
}

// --- what changed ------------------------------------------------------------

TEST_F(Resume, TellsHowRecipeAndPlanDiffer) {
  const std::string run_dir = Folder("run");
  ASSERT_EQ(Train(SmallRun(run_dir, {"epochs=1"})).exit_code, 0);
  const Outcome run =
      Train(SmallRun(run_dir, {"epochs=2", "lr=0.001", "resume=True",
                               "training_hyperparams.ema_params.decay=0.5",
                               "training_hyperparams.lr_warmup_epochs=0"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the recipe is not the checkpoint's"));
  EXPECT_THAT(
      run.err,
      HasSubstr("training_hyperparams.initial_lr: 0.05 -> 0.001 (command "));
  EXPECT_THAT(run.err, HasSubstr("training_hyperparams.max_epochs: 1 -> 2"));
  EXPECT_THAT(run.err, Not(HasSubstr("training_hyperparams.resume")));
  EXPECT_THAT(run.err, HasSubstr("the plan is not the checkpoint's"));
  EXPECT_THAT(run.err, HasSubstr("plugins.ema.config.decay: 0.9 -> 0.5"));
  EXPECT_THAT(run.err, HasSubstr("the learning rate is the recipe's"));
  std::set<std::string> keys;
  for (const json& line : LinesOf(run_dir, "event")) {
    if (line["name"] != "resume") continue;
    EXPECT_EQ(line["step"], 6);
    EXPECT_EQ(line["detail"]["path"], Normal(run_dir));
    EXPECT_TRUE(line["detail"]["lr"].is_object());
    for (const json& change : line["detail"]["recipe"]) {
      keys.insert(change["key"]);
    }
  }
  EXPECT_EQ(keys.count("training_hyperparams.initial_lr"), 1u);
}

TEST_F(Resume, IsStrictUnlessToldOtherwise) {
  const std::string run_dir = Folder("run");
  ASSERT_EQ(Train(SmallRun(run_dir, {"epochs=1"})).exit_code, 0);
  const std::string latest = ReadText(run_dir + "/ckpt_latest.pth");
  const Arguments wider = {"resume=True", "arch_params.num_classes=12"};
  const Outcome refused = Train(SmallRun(run_dir, wider));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("misshapen (2): linear.weight is [10, "));
  EXPECT_EQ(ReadText(run_dir + "/ckpt_latest.pth"), latest);
  EXPECT_EQ(ResultOf(run_dir)["exit_reason"], "done");
  Arguments loose = wider;
  loose.push_back("training_hyperparams.resume_strict_load=False");
  const Outcome taken = Train(SmallRun(run_dir, loose));
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_THAT(taken.err, HasSubstr("not all of the checkpoint fits"));
}

TEST_F(Resume, RefusesAFolderInWhichAnotherRunWrites) {
  const std::string run_dir = Folder("run");
  Process first(
      TrainerPath(),
      SmallRun(run_dir, {"epochs=500", "+plugins.interrupts.slow=20"}),
      folder_);
  while (!fs::exists(run_dir + "/ckpt_latest.pth")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const Outcome second = Train(SmallRun(run_dir, {"resume=True"}));
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("another run writes into"));
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait().exit_code, 143);
  LatestOf(run_dir);
}

// --- signals -----------------------------------------------------------------

Arguments Stalling(const std::string& run_dir, const std::string& file) {
  return SmallRun(
      run_dir, {absl::StrCat("dataset_params.train_dataset_params.transforms="
                             "[{Stall: {file: ",
                             file, "}}, ToTensor]"),
                "dataset_params.train_dataloader_params.num_workers=1"});
}

TEST_F(Resume, FollowsASignalToARunWhoseDataDoNotCome) {
  const std::string file = Folder("stall"), run_dir = Folder("run");
  std::ofstream(file).flush();
  Process process(TrainerPath(), Stalling(run_dir, file), folder_);
  while (!fs::exists(file + ".reached")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  process.Signal(SIGTERM);
  const Outcome run = process.Wait();
  EXPECT_EQ(run.exit_code, 143) << run.err;
  EXPECT_EQ(ResultOf(run_dir)["exit_reason"], "signal");
  EXPECT_EQ(LatestOf(run_dir).step, 0);
}

// Whenever it comes: before there is a training there is nothing to be saved.
TEST_F(Resume, FollowsASignalAtAnyMomentOfTheStart) {
  for (const int milliseconds : {0, 100, 200, 400, 800}) {
    SCOPED_TRACE(milliseconds);
    const std::string run_dir = Folder(absl::StrCat("run_", milliseconds));
    Process process(TrainerPath(), SmallRun(run_dir, {"epochs=500"}), folder_);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.Signal(SIGTERM);
    const Outcome run = process.Wait();
    EXPECT_EQ(run.exit_code, 143) << run.err;
    if (fs::exists(run_dir + "/result.json")) LatestOf(run_dir);
  }
}

TEST_F(Resume, FollowsASecondSignalThatEndedTheRunAtOnce) {
  const std::string run_dir = Folder("run");
  Process process(TrainerPath(),
                  SmallRun(run_dir, {"+plugins.interrupts.slow=20"}), folder_);
  while (!fs::exists(run_dir + "/ckpt_latest.pth")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process.Signal(SIGTERM);
  process.Signal(SIGINT);
  const Outcome run = process.Wait();
  EXPECT_TRUE(run.exit_code == 130 || run.exit_code == 143) << run.exit_code;
  LatestOf(run_dir);
  Whole();
  ExpectGoesOn(run_dir);
}

// The second one in the middle of the save that the first one asked for.
TEST_F(Resume, FollowsASignalInTheMiddleOfTheLastSave) {
  Whole();
  for (const char* point : {"fsync_before", "rename_before", "rename_after"}) {
    SCOPED_TRACE(point);
    const std::string run_dir = Folder(point);
    // Some files come before the checkpoints of step 2 and, on the first
    // signal, of step 3. Where the point is reached too early, it is the first.
    for (int turn = 5; turn < 10; ++turn) {
      fs::remove_all(run_dir);
      const Outcome run = Train(
          SmallRun(run_dir, {"+plugins.interrupts.signal=AfterOptimizer"}),
          {{"SLIPWAY_FAULT", absl::StrCat(point, ":", turn, ":SIGTERM")}});
      EXPECT_EQ(run.exit_code, 143) << run.err;
      if (!fs::exists(run_dir + "/result.json") &&
          fs::exists(run_dir + "/ckpt_latest.pth")) {
        break;
      }
    }
    ASSERT_FALSE(fs::exists(run_dir + "/result.json"));
    // The old one or the new one, whole.
    EXPECT_THAT(LatestOf(run_dir).step, AnyOf(2, 3));
    ExpectGoesOn(run_dir);
  }
}

}  // namespace
}  // namespace slipway
