// Two ranks of a training on a Ray cluster: what they learn is what they learn
// without it.
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"
#include "tests/launcher/ray/cluster.h"

namespace slipway {
namespace {

Outcome Train(const std::vector<std::string>& flags,
              const std::string& run_dir) {
  std::vector<std::string> arguments = flags;
  for (const std::string& word :
       {std::string("--num_processes=2"), "--log_dir=" + run_dir + ".logs",
        std::string("--"), std::string("--recipe=digits_resnet"),
        "--run_dir=" + run_dir, std::string("epochs=2"),
        std::string("training_hyperparams.max_train_batches=4"),
        std::string("training_hyperparams.log_every=1")}) {
    arguments.push_back(word);
  }
  return Process(RunfilePath("launcher/launcher"), arguments,
                 testing::TempDir(), ClusterEnvironment())
      .Wait();
}

class Training : public testing::Test {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) {
      GTEST_SKIP() << "two ranks need two cores";
    }
    folder_ = EmptyFolder();
    const Outcome run = Train({}, folder_ + "/subprocess");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    wanted_ = LossesOf(folder_ + "/subprocess");
    ASSERT_EQ(wanted_.size(), 8u);
  }

  void ExpectTheSame(const std::vector<std::string>& flags) {
    const Outcome run = Train(flags, folder_ + "/ray");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::vector<double> losses = LossesOf(folder_ + "/ray");
    ASSERT_EQ(losses.size(), wanted_.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], wanted_[i], 1e-5) << i;
    }
    EXPECT_EQ(ResultOf(folder_ + "/ray")["world_size"], 2);
  }

  std::string folder_;
  std::vector<double> wanted_;
};

TEST_F(Training, IsTheSameOnAClusterThatIsThere) { ExpectTheSame(RayFlags()); }

TEST_F(Training, IsTheSameOnAClusterOfItsOwn) {
  ExpectTheSame({"--backend=ray"});
}

}  // namespace
}  // namespace slipway
