// What lets `compile` train together with `ema` and `syncbn`: the same
// training, eager and compiled, has the same losses, weights, averages and
// buffers.
#include <algorithm>
#include <string>
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

Arguments Compiled(const std::string& cache) {
  return {"training_hyperparams.torch_compile=True",
          "+plugins.compile.wait=True", "+plugins.compile.required=True",
          "+plugins.compile.cache_dir=" + cache};
}

Arguments Joined(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void Train(const std::string& run_dir, const Arguments& more) {
  const Outcome run = RunTrainer(SmallRun(run_dir, Joined(kComparable, more)),
                                 testing::TempDir());
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

TEST(CompiledTraining, IsTheSameWithEma) {
  const std::string folder = EmptyFolder();
  Train(folder + "/eager", {});
  Train(folder + "/compiled", Compiled(folder + "/cache"));
  ExpectSameTraining(folder + "/compiled", folder + "/eager");
}

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
