#include "trainer/loop/averaging.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ATen/ops/allclose.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/zeros_like.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/fixtures.h"
#include "trainer/plugin/control.h"

namespace slipway::loop {
namespace {

namespace fs = std::filesystem;
using recipe::Node;

class AveragingTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/averaging_" + test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  RunResult Fit(int64_t epochs,
                std::vector<std::pair<std::string, Node>> extra = {},
                std::unique_ptr<Probe> probe = nullptr) {
    TrainerParts parts = LinearParts(64, 8, 64);
    if (probe != nullptr) parts.hooks = ProbeRunner(std::move(probe));
    TrainerOptions options = Options(epochs, std::move(extra));
    options.run_dir = folder_;
    Problems problems;
    trainer_ = Trainer::Create(std::move(parts), std::move(options), problems);
    trainer_->AddReporter(std::make_unique<Diary>(heard_));
    return trainer_->Fit();
  }

  at::Tensor Weight(const std::string& file) const {
    const absl::StatusOr<Checkpoint> read =
        ReadCheckpoint(folder_ + "/" + file);
    EXPECT_TRUE(read.ok()) << read.status();
    return read->net.at(0).second;
  }

  std::vector<std::string> Kept() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/averaging")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_;
  Heard heard_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(AveragingTest, WritesTheMeanOfTheModelsThatItKeeps) {
  const RunResult result = Fit(3);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.average_checkpoint, "average_model.pth");
  EXPECT_THAT(Kept(), testing::ElementsAre("1.pth", "2.pth", "3.pth"));
  const at::Tensor mean = Weight("averaging/1.pth")
                              .add(Weight("averaging/2.pth"))
                              .add(Weight("averaging/3.pth"))
                              .div(3);
  EXPECT_TRUE(at::allclose(Weight("average_model.pth"), mean));
  const EventReport& told = heard_.events.back();
  EXPECT_EQ(told.detail["file"], "average_model.pth");
  EXPECT_EQ(told.detail["mean_of_epochs"], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ReadCheckpoint(folder_ + "/average_model.pth")->acc,
            told.detail["metrics"]["Accuracy"].get<double>());
}

TEST_F(AveragingTest, LeavesTheModelAsItWas) {
  Fit(3);
  EXPECT_TRUE(at::equal(trainer_->model().StateDict().at(0).second,
                        Weight("ckpt_latest.pth")));
  EXPECT_FALSE(
      at::equal(Weight("average_model.pth"), Weight("ckpt_latest.pth")));
}

TEST_F(AveragingTest, KeepsTenAtMost) {
  Fit(13);
  EXPECT_EQ(Kept().size(), 10u);
}

// Puts zeros in place of the weights, as a plugin that averages puts a mean.
class Zeros : public Scope {
 public:
  explicit Zeros(nn::Module& model) : weight_(model.StateDict()[0].second) {
    own_ = weight_.clone();
    weight_.zero_();
  }
  ~Zeros() override { weight_.copy_(own_); }

 private:
  at::Tensor weight_, own_;
};

TEST_F(AveragingTest, KeepsTheWeightsThatWereEvaluated) {
  std::vector<std::string> splits;
  auto probe = std::make_unique<Probe>();
  probe->eval_begin = [&](EvalContext& context) {
    splits.push_back(context.split());
    if (context.split() == "valid") {
      context.Enter(std::make_unique<Zeros>(context.model()));
    }
    return absl::OkStatus();
  };
  Fit(2, {}, std::move(probe));
  const at::Tensor kept = Weight("averaging/2.pth");
  EXPECT_TRUE(at::equal(kept, at::zeros_like(kept)));
  EXPECT_THAT(splits, testing::ElementsAre("valid", "valid", "average"));
}

TEST_F(AveragingTest, DoesNothingWhenTold) {
  const RunResult result = Fit(2, {{"average_best_models", Node::Bool(false)}});
  EXPECT_EQ(result.average_checkpoint, "");
  EXPECT_FALSE(fs::exists(folder_ + "/averaging"));
  EXPECT_FALSE(fs::exists(folder_ + "/average_model.pth"));
}

// A folder as a run left it that was killed in its fourth epoch, of which the
// model was whole already; the run that goes on has finished none.
TEST_F(AveragingTest, RemovesWhatIsToBeMadeAgain) {
  Fit(4);
  std::ofstream(folder_ + "/averaging/5.pth.123.tmp") << "x";
  std::ofstream(folder_ + "/averaging/notes.txt") << "mine";
  Fit(2);
  EXPECT_THAT(Kept(), testing::ElementsAre("1.pth", "2.pth", "notes.txt"));
}

}  // namespace
}  // namespace slipway::loop
