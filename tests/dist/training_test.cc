// The trainer on several ranks: through the launcher, as a user starts it, and
// directly, where a test has to reach a single one.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/dist/programs.h"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/previous.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// An epoch of twenty steps of digits_resnet, 64 samples each over all ranks.
Arguments TwentySteps(const std::string& run_dir, int ranks,
                      const Arguments& more = {}) {
  Arguments arguments = {
      "--recipe=digits_resnet",
      "--run_dir=" + run_dir,
      absl::StrCat("--plugin_path=", RunfilePath("tests/e2e"), ":",
                   RunfilePath("tests/dist")),
      "epochs=1",
      absl::StrCat("batch_size=", 64 / ranks),
      "training_hyperparams.max_train_batches=20",
      "training_hyperparams.log_every=1",
      "training_hyperparams.average_best_models=False"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome Launch(int ranks, const Arguments& arguments, const std::string& folder,
               const Arguments& flags = {}) {
  Arguments all = {absl::StrCat("--num_processes=", ranks), "--auto_lr=false",
                   "--log_dir=" + folder + "/logs"};
  all.insert(all.end(), flags.begin(), flags.end());
  all.push_back("--");
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Process(RunfilePath("launcher/launcher"), all, folder).Wait();
}

// The largest relative distance of two runs' losses.
double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double distance = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    distance = std::max(distance, std::abs(a[i] - b[i]) / std::abs(b[i]));
  }
  return distance;
}

// --- one training ------------------------------------------------------------

// What the recipe has, with a step's loss each.
struct Losses {
  std::vector<double> alone;
  std::vector<double> together;
};

Losses TrainBoth(const std::string& folder, const Arguments& alone,
                 const Arguments& together) {
  const Outcome one =
      RunTrainer(TwentySteps(folder + "/one", 1, alone), folder);
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const Outcome two =
      Launch(2, TwentySteps(folder + "/two", 2, together), folder);
  EXPECT_EQ(two.exit_code, 0) << two.err;
  return {LossesOf(folder + "/one"), LossesOf(folder + "/two")};
}

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Arguments& SyncBn() {
  static const auto* const arguments =
      new Arguments{"training_hyperparams.sync_bn=True"};
  return *arguments;
}

// Sums are made in another order, so that rounding differs; and at this
// recipe's rate its first steps multiply any difference, most of all where a
// value passes a kink of ReLU or of the maximum. In single precision one
// process with the samples of each batch in another order ends 1e-7 to 1e-1
// away after twenty steps, two ranks 1e-4. So the recipe's own rate is compared
// in double precision, and single precision at a rate at which a difference
// stays as it is.
TEST(Training, WithSyncBnIsThatOfOneProcessOnTheJoinedBatch) {
  const Arguments exact = {"+plugins.exact={}"};
  const Losses losses = TrainBoth(EmptyFolder(), exact, exact + SyncBn());
  ASSERT_EQ(losses.alone.size(), 20u);
  EXPECT_LT(Distance(losses.together, losses.alone), 1e-6);
  EXPECT_LT(losses.alone.back(), losses.alone.front() - 1.5);
}

TEST(Training, WithSyncBnIsThatOfOneProcessInSinglePrecisionToo) {
  const Arguments gentle = {"lr=0.00005"};
  const Losses losses = TrainBoth(EmptyFolder(), gentle, gentle + SyncBn());
  ASSERT_EQ(losses.alone.size(), 20u);
  EXPECT_LT(Distance(losses.together, losses.alone), 1e-5);
}

// Its micro-batches are the ranks' batches. A transform's randomness belongs to
// a sample's place, which is another then.
TEST(Training, OnPlainBatchNormIsThatOfOneProcessOnHalfBatches) {
  const Arguments exact = {
      "+plugins.exact={}",
      "dataset_params.train_dataset_params.transforms=[ToTensor]"};
  const Arguments halves = {
      "batch_size=32", "training_hyperparams.batch_accumulate=2",
      "training_hyperparams.max_train_batches=40",
      "dataset_params.train_dataloader_params.shuffle=False",
      "+dataset_params.train_dataloader_params.sampler={Dealt: {ranks: 2, "
      "batch: 32}}"};
  const Losses losses = TrainBoth(EmptyFolder(), exact + halves, exact);
  ASSERT_EQ(losses.alone.size(), 20u);
  EXPECT_LT(Distance(losses.together, losses.alone), 1e-5);
}

// --- files and results -------------------------------------------------------

TEST(Training, WritesOneRunAndALogPerPeer) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      Launch(2, TwentySteps(folder + "/run", 2, {"epochs=2"}), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FilesIn(folder + "/run"),
              AllOf(Contains("rank1.log"), Not(Contains("rank0.log")),
                    Contains("result.json"), Contains("ckpt_best.pth")));
  const json result = ResultOf(folder + "/run");
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["world_size"], 2);
  EXPECT_EQ(result["samples"], 2 * 20 * 64);
  const Checkpoint latest = LatestOf(folder + "/run");
  EXPECT_EQ(latest.world_size, 2);
  EXPECT_EQ(latest.rng.size(), 2u);
  EXPECT_THAT(ReadText(folder + "/run/rank1.log"), HasSubstr("epoch 2/2"));
  // All 360 validation samples count once: a rate is a number of 360ths.
  const double accuracy = result["metrics"]["final"]["valid"]["Accuracy"];
  EXPECT_NEAR(accuracy * 360, std::round(accuracy * 360), 1e-6);
}

TEST(Training, RunsOnceOnSeveralRanksInADryRun) {
  const Outcome run = RunTrainer(
      TwentySteps("run", 2, {"--dry_run", "--format=json"}), EmptyFolder(),
      {{"WORLD_SIZE", "2"},
       {"RANK", "1"},
       {"MASTER_ADDR", "127.0.0.1"},
       {"MASTER_PORT", "1"}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json document = json::parse(run.out, nullptr, false);
  EXPECT_EQ(document["steps_per_epoch"], 20);
}

// --- refusals ----------------------------------------------------------------

TEST(Training, RefusesAnotherPlanThanTheLaunchersOnAllRanks) {
  const std::string folder = EmptyFolder();
  const auto ranks = RunTrainerRanks(2, TwentySteps("run", 2), folder,
                                     {{"SLIPWAY_PLAN_HASH", "1234"}});
  for (const Outcome& rank : ranks) {
    EXPECT_EQ(rank.exit_code, 2);
    EXPECT_THAT(rank.err, HasSubstr("SLIPWAY_PLAN_HASH is 1234"));
  }
  EXPECT_THAT(FilesIn(folder), Not(Contains("run")));
}

TEST(Training, RefusesAFolderThatHoldsARunOnAllRanks) {
  const std::string folder = EmptyFolder();
  std::filesystem::create_directories(folder + "/run");
  std::ofstream(folder + "/run/metrics.jsonl") << "{}\n";
  for (const Outcome& rank :
       RunTrainerRanks(2, TwentySteps("run", 2), folder)) {
    EXPECT_EQ(rank.exit_code, 2);
    EXPECT_THAT(rank.err, HasSubstr("holds a run already"));
  }
}

TEST(Training, RefusesRankVariablesThatMakeNoSense) {
  const Outcome run = RunTrainer(TwentySteps("run", 2), EmptyFolder(),
                                 {{"WORLD_SIZE", "2"}, {"RANK", "2"}});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("RANK is \"2\""),
                             HasSubstr("MASTER_ADDR is not set")));
}

// --- one rank among others ---------------------------------------------------

// Until the run has saved.
void WaitForACheckpoint(const std::string& run_dir) {
  const std::string path = run_dir + "/ckpt_latest.pth";
  for (int i = 0; i < 1200 && !std::filesystem::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Arguments SlowSteps(const std::string& run_dir) {
  return TwentySteps(run_dir, 2,
                     {"epochs=50",
                      "+plugins.interrupts={slow: 20, "
                      "save_every: 2}"});
}

TEST(Training, StopsTogetherOnASignalToOneRank) {
  for (const auto& [signal, exit_code] :
       std::map<int, int>{{SIGTERM, 143}, {SIGINT, 130}}) {
    const std::string folder = EmptyFolder();
    RankedProgram ranks(2, TrainerPath(), SlowSteps("run"), folder);
    WaitForACheckpoint(folder + "/run");
    ranks.Signal(1, signal);
    for (const Outcome& rank : ranks.Wait()) {
      EXPECT_EQ(rank.exit_code, exit_code) << rank.err;
    }
    const json result = ResultOf(folder + "/run");
    EXPECT_EQ(result["exit_reason"], "signal");
    EXPECT_EQ(LatestOf(folder + "/run").step, result["steps"]);
    EXPECT_THAT(ReadText(folder + "/run/rank1.log"),
                HasSubstr(absl::StrCat("step ", result["steps"].get<int>())));
  }
}

TEST(Training, SkipsTogetherWhatIsNotFiniteOnOneRank) {
  const std::string folder = EmptyFolder();
  const Outcome run = Launch(
      2,
      TwentySteps(folder + "/run", 2,
                  {"training_hyperparams.non_finite=skip",
                   "+plugins.exact={double: False, nan_rank: 1, nan_batch: "
                   "3}"}),
      folder);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::vector<json> events = LinesOf(folder + "/run", "event");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0]["name"], "skip_step");
  EXPECT_EQ(events[0]["step"], 3);
  EXPECT_EQ(events[0]["detail"]["reason"], "rank 1: the loss is nan");
  EXPECT_EQ(ResultOf(folder + "/run")["steps"], 19);
}

TEST(Training, NamesARankThatWasKilledAndKeepsItsCheckpoint) {
  for (const int killed : {0, 1}) {
    const std::string folder = EmptyFolder();
    RankedProgram ranks(2, TrainerPath(), SlowSteps("run"), folder);
    WaitForACheckpoint(folder + "/run");
    ranks.Signal(killed, SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Outcome> outcomes = ranks.Wait();
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(10));
    EXPECT_EQ(outcomes[killed].exit_code, 128 + SIGKILL);
    const Outcome& survivor = outcomes[1 - killed];
    EXPECT_EQ(survivor.exit_code, 1);
    EXPECT_THAT(survivor.err, HasSubstr(absl::StrCat("lost rank ", killed)));
    // A save may just have been on its way.
    const auto latest =
        ReadCheckpointOrPrevious(folder + "/run/ckpt_latest.pth");
    ASSERT_TRUE(latest.ok()) << latest.status();
    EXPECT_GT(latest->checkpoint.step, 0);
    if (killed == 0) continue;
    const json result = ResultOf(folder + "/run");
    EXPECT_EQ(result["exit_reason"], "peer_lost");
    EXPECT_EQ(result["error"]["kind"], "peer");
    const json last = LinesOf(folder + "/run", "event").back();
    EXPECT_EQ(last["name"], "peer_lost");
    EXPECT_EQ(last["detail"]["ranks"], json::array({1}));
  }
}

TEST(Training, IsReportedByTheLauncherIfARankIsKilled) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      Launch(2,
             TwentySteps(folder + "/run", 2,
                         {"epochs=50", "+plugins.interrupts={kill_at: 7}"}),
             folder);
  EXPECT_EQ(run.exit_code, 128 + SIGKILL);
  const json report = json::parse(ReadText(folder + "/logs/launch_report.json"),
                                  nullptr, false);
  EXPECT_EQ(report["first_failure"]["signal"], "SIGKILL");
}

// The trainer as any program: a shell adds what kills it in its first attempt.
TEST(Training, GoesOnAfterARestartFromTheLatestCheckpoint) {
  const std::string folder = EmptyFolder();
  std::string script = "exec " + TrainerPath();
  for (const std::string& argument :
       TwentySteps(folder + "/run", 2,
                   {"epochs=3", "resume=true",
                    "training_hyperparams.max_train_batches=6"})) {
    absl::StrAppend(&script, " ", argument);
  }
  script +=
      " $([ $SLIPWAY_RESTART = 0 ] && echo +plugins.interrupts.kill_at=15)";
  const Outcome run =
      Process(RunfilePath("launcher/launcher"),
              {"--num_processes=2", "--max_restarts=1", "--auto_lr=false",
               "--log_dir=" + folder + "/logs", "--", "/bin/sh", "-c", script},
              folder)
          .Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json result = ResultOf(folder + "/run");
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["steps"], 18);
  // The save of the second epoch may not have been whole yet.
  EXPECT_GE(result["resumed_from"]["step"], 6);
  EXPECT_EQ(LossesOf(folder + "/run").size(), 18u);
}

TEST(Training, GivesTheLauncherASignOfLifeInEachStep) {
  const std::string folder = EmptyFolder();
  const Outcome run = Launch(
      2, TwentySteps(folder + "/run", 2, {"+plugins.interrupts={slow: 20000}"}),
      folder, {"--heartbeat_timeout=3s", "--grace=1s"});
  EXPECT_NE(run.exit_code, 0);
  const json report = json::parse(ReadText(folder + "/logs/launch_report.json"),
                                  nullptr, false);
  EXPECT_EQ(report["first_failure"]["reason"], "heartbeat");
}

TEST(Training, IsReplayedByAsManyRanks) {
  const std::string folder = EmptyFolder();
  for (const Outcome& rank : RunTrainerRanks(
           2,
           TwentySteps(
               "run", 2,
               SyncBn() + Arguments{"training_hyperparams.state_hash_every=5"}),
           folder)) {
    ASSERT_EQ(rank.exit_code, 0) << rank.err;
  }
  for (const Outcome& rank : RunTrainerRanks(2, {"--replay=run"}, folder)) {
    EXPECT_EQ(rank.exit_code, 0) << rank.err;
    EXPECT_THAT(rank.err, HasSubstr("equal: 6 states up to step 20"));
  }
}

// --- another number of ranks -------------------------------------------------

// Losses by step, of a training of 24 steps that was cut early.
std::vector<double> GoneOn(int first, int second) {
  const std::string folder =
      EmptyFolder() + absl::StrCat("/", first, "to", second);
  std::filesystem::create_directories(folder);
  const Arguments exact = {"+plugins.exact={}", "epochs=2",
                           "training_hyperparams.max_train_batches=12"};
  const Arguments cut = {"+plugins.interrupts={signal: AfterOptimizer}"};
  const std::string run_dir = folder + "/run";
  for (const Outcome& rank : RunTrainerRanks(
           first, TwentySteps(run_dir, first, exact + SyncBn() + cut),
           folder)) {
    EXPECT_EQ(rank.exit_code, 143) << rank.err;
  }
  for (const Outcome& rank :
       RunTrainerRanks(second,
                       TwentySteps(run_dir, second,
                                   exact + SyncBn() + Arguments{"resume=true"}),
                       folder)) {
    EXPECT_EQ(rank.exit_code, 0) << rank.err;
  }
  return LossesOf(run_dir);
}

TEST(Training, GoesOnWithAnotherNumberOfRanksAndTheSameSamples) {
  const std::vector<double> whole = GoneOn(1, 1);
  ASSERT_EQ(whole.size(), 24u);
  EXPECT_LT(Distance(GoneOn(2, 1), whole), 1e-5);
  EXPECT_LT(Distance(GoneOn(1, 2), whole), 1e-5);
}

}  // namespace
}  // namespace slipway
