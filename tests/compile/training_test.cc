// What lets `compile` train together with `ema` and `syncbn`: the same
// training, eager and compiled, has the same losses, weights, averages and
// buffers. And what a compiler that dies, or a cache that is damaged, does to a
// training: nothing.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

// In single precision, and at a rate at which rounding does not grow from step
// to step: at the recipe's own, two eager trainings whose images differ in
// their last bits drift apart, too.
const Arguments kComparable = {"training_hyperparams.mixed_precision=False",
                               "training_hyperparams.initial_lr=0.0001",
                               "training_hyperparams.log_every=1"};

Arguments Compiled(const std::string& cache,
                   const std::string& scope = "model") {
  return {"training_hyperparams.torch_compile=True",
          "+plugins.compile.wait=True", "+plugins.compile.required=True",
          "+plugins.compile.cache_dir=" + cache,
          "+plugins.compile.scope=" + scope};
}

Arguments Joined(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void Train(const std::string& run_dir, const Arguments& more,
           const std::map<std::string, std::string>& environment = {}) {
  const Outcome run = RunTrainer(SmallRun(run_dir, Joined(kComparable, more)),
                                 testing::TempDir(), environment);
  ASSERT_EQ(run.exit_code, 0) << run.err;
}

void TrainTwoRanks(const std::string& run_dir, const Arguments& more) {
  Arguments arguments = {"--num_processes=2", "--auto_lr=false",
                         "--log_dir=" + run_dir + "/launch", "--"};
  arguments = Joined(arguments, SmallRun(run_dir, Joined(kComparable, more)));
  const Outcome run =
      Process(RunfilePath("launcher/launcher"), arguments, testing::TempDir())
          .Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
}

// max|a - b| over max|b|, of the worst tensor.
double Distance(const std::vector<nn::NamedTensor>& a,
                const std::vector<nn::NamedTensor>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    const at::Tensor x = a[i].second.to(at::kDouble);
    const at::Tensor y = b[i].second.to(at::kDouble);
    const double scale = std::max(y.abs().max().item<double>(), 1e-3);
    worst = std::max(worst, x.sub(y).abs().max().item<double>() / scale);
  }
  return worst;
}

void ExpectSameTraining(const std::string& compiled, const std::string& eager) {
  const std::vector<double> losses = LossesOf(compiled);
  const std::vector<double> expected = LossesOf(eager);
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-4) << "step " << i;
  }
  const Checkpoint ours = LatestOf(compiled);
  const Checkpoint theirs = LatestOf(eager);
  EXPECT_LT(Distance(ours.net, theirs.net), 1e-3);
  ASSERT_EQ(ours.extra_nets.at(0).first, "ema_net");
  EXPECT_LT(Distance(ours.extra_nets[0].second, theirs.extra_nets.at(0).second),
            1e-3);
  EXPECT_NE(ResultOf(compiled)["compile"]["cache"], "fallback");
  EXPECT_EQ(ResultOf(eager)["compile"], nullptr);
}

// Twelve epochs of all digits, on a narrow net.
const Arguments kWhole = {
    "epochs=12", "batch_size=64", "training_hyperparams.max_train_batches=null",
    "training_hyperparams.max_valid_batches=null", "~plugins.interrupts"};

class EachScope : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, EachScope, testing::Values("model", "step"),
                         [](const auto& info) { return info.param; });

// How far apart two trainings are.
struct Apart {
  double early_losses = 0;  // of the first epoch
  double losses = 0;
  double weights = 0;
  double averages = 0;
};

double Largest(const std::vector<double>& a, const std::vector<double>& b,
               size_t steps) {
  double largest = 0;
  for (size_t i = 0; i < steps; ++i) {
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  }
  return largest;
}

Apart DistanceOf(const std::string& run_dir, const std::string& other) {
  const std::vector<double> a = LossesOf(run_dir), b = LossesOf(other);
  EXPECT_EQ(a.size(), 12 * 23);
  const Checkpoint ours = LatestOf(run_dir), theirs = LatestOf(other);
  return {.early_losses = Largest(a, b, 23),
          .losses = Largest(a, b, a.size()),
          .weights = Distance(ours.net, theirs.net),
          .averages = Distance(ours.extra_nets.at(0).second,
                               theirs.extra_nets.at(0).second)};
}

// Rounding grows in so many steps. How far that goes is told by two eager
// trainings that add in another order: with one thread and with two.
TEST_P(EachScope, IsTheSameTrainingWithEma) {
  const std::string folder = EmptyFolder();
  Train(folder + "/eager", kWhole);
  Train(folder + "/two_threads", kWhole, {{"OMP_NUM_THREADS", "2"}});
  Train(folder + "/compiled",
        Joined(kWhole, Compiled(folder + "/cache", GetParam())));
  const nlohmann::json compile = ResultOf(folder + "/compiled")["compile"];
  EXPECT_EQ(compile["scope"], GetParam());
  EXPECT_NE(compile["candidate"], "eager");
  const Apart found = DistanceOf(folder + "/compiled", folder + "/eager");
  const Apart rounding = DistanceOf(folder + "/two_threads", folder + "/eager");
  EXPECT_LT(found.early_losses, 1e-4);
  EXPECT_LT(found.losses, 4 * rounding.losses);
  EXPECT_LT(found.weights, 4 * rounding.weights);
  EXPECT_LT(found.averages, 4 * rounding.averages);
}

TEST(CompiledTraining, IsTheSameWithTheLossInTheGraph) {
  const std::string folder = EmptyFolder();
  Train(folder + "/eager", {});
  Train(folder + "/compiled",
        Joined(Compiled(folder + "/cache"),
               {"training_hyperparams.torch_compile_loss=True"}));
  ExpectSameTraining(folder + "/compiled", folder + "/eager");
}

// At the recipe's own rates, where no two trainings are alike: as well.
TEST(CompiledTraining, LearnsDigitsAsWell) {
  const std::string folder = EmptyFolder();
  for (const bool compiled : {false, true}) {
    const std::string run_dir = folder + (compiled ? "/compiled" : "/eager");
    Arguments arguments = {
        "--recipe=digits_resnet", "--run_dir=" + run_dir,
        "training_hyperparams.ema=True",
        "training_hyperparams.ema_params.decay=0.9",
        "training_hyperparams.ema_params.decay_type=threshold"};
    if (compiled) {
      arguments = Joined(arguments, Compiled(folder + "/cache", "step"));
    }
    const Outcome run = RunTrainer(arguments, folder);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_GE(ResultOf(run_dir)["metrics"]["best"]["value"], 0.98) << run_dir;
  }
}

// --- what may go wrong -------------------------------------------------------

// Kills, as long as there are any, the compilers that write to `cache`.
void KillCompilersOf(const std::string& cache, const std::atomic<bool>& done) {
  while (!done) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string line = ReadText(entry.path() / "cmdline");
      if (line.find("compile_graph.py") != std::string::npos &&
          line.find(cache) != std::string::npos) {
        kill(atoi(entry.path().filename().c_str()), SIGKILL);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

TEST(CompiledTraining, GoesOnEagerlyIfTheCompilerIsKilled) {
  const std::string folder = EmptyFolder();
  std::atomic<bool> done = false;
  std::thread killer([&] { KillCompilersOf(folder + "/cache", done); });
  const Outcome run =
      RunTrainer(SmallRun(folder + "/run",
                          {"training_hyperparams.torch_compile=True",
                           "+plugins.compile.wait=True",
                           "+plugins.compile.cache_dir=" + folder + "/cache"}),
                 folder);
  done = true;
  killer.join();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json result = ResultOf(folder + "/run");
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["compile"]["cache"], "fallback");
  EXPECT_NE(run.err.find("ended by SIGKILL"), std::string::npos) << run.err;
}

void DamageEntries(const std::string& cache) {
  int damaged = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(cache + "/entries")) {
    if (entry.path().extension() != ".so") continue;
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
}

TEST(CompiledTraining, MakesADamagedEntryAnew) {
  const std::string folder = EmptyFolder();
  const Arguments compiled =
      Joined(Compiled(folder + "/cache", "step"), {"~plugins.interrupts"});
  Train(folder + "/first", compiled);
  EXPECT_EQ(ResultOf(folder + "/first")["compile"]["cache"], "built");
  Train(folder + "/second", compiled);
  EXPECT_EQ(ResultOf(folder + "/second")["compile"]["cache"], "hit");
  DamageEntries(folder + "/cache");
  Train(folder + "/third", compiled);
  EXPECT_EQ(ResultOf(folder + "/third")["compile"]["cache"], "built");
}

// --- ranks -------------------------------------------------------------------

TEST(CompiledTraining, IsTheSameOnTwoRanksWithSyncbn) {
  const std::string folder = EmptyFolder();
  const Arguments syncbn = {"training_hyperparams.sync_bn=True"};
  TrainTwoRanks(folder + "/eager", syncbn);
  TrainTwoRanks(folder + "/compiled",
                Joined(syncbn, Compiled(folder + "/cache")));
  ExpectSameTraining(folder + "/compiled", folder + "/eager");
}

}  // namespace
}  // namespace slipway
