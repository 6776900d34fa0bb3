// Whole steps of a small net, compiled, beside the same steps taken eagerly;
// compiled_step_cases_test.cc has others.
#include "plugins/compile/compiled_step.h"

#include <limits>
#include <string>
#include <vector>

#include "ATen/ops/full.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_training.h"

namespace slipway::compile {
namespace {

using at::Tensor;

TEST_F(CompiledStepTest, IsTheSameTrainingWithNesterovMomentum) {
  Training compiled(NesterovSgd);
  Training eager(NesterovSgd);
  TrainBoth(compiled, eager);
  ExpectEqual(compiled, eager);
}

// Running statistics move in forward, as they do eagerly.
bool IsKept(const std::string& name) {
  return name.find("running") == std::string::npos &&
         name.find("num_batches") == std::string::npos;
}

TEST_F(CompiledStepTest, KeepsEveryTensorWhereTheLossIsNotFinite) {
  Training training(NesterovSgd);
  CompiledStep step(setup_);
  Seed(1);
  training.Eagerly(BatchOf(8), 0.1);
  ASSERT_TRUE(training.ByGraph(step, BatchOf(8), 0.1));
  std::vector<Tensor> before;
  for (const auto& [name, tensor] : training.Everything()) {
    before.push_back(tensor.detach().clone());
  }
  data::Batch bad = BatchOf(8);
  bad.input =
      Value(at::full({8, 3, 8, 8}, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FALSE(training.ByGraph(step, bad, 0.1));
  EXPECT_EQ(training.state.whole_step.done, StepPart::kAll);
  const std::vector<nn::NamedTensor> after = training.Everything();
  for (size_t i = 0; i < before.size(); ++i) {
    if (IsKept(after[i].first)) {
      EXPECT_TRUE(after[i].second.equal(before[i])) << after[i].first;
    }
  }
}

TEST_F(CompiledStepTest, IsVerifiedOnABatchWhoseStepIsTaken) {
  Training training(NesterovSgd);
  CompiledStep step(setup_);
  training.Eagerly(BatchOf(8), 0.1);
  data::Batch bad = BatchOf(8);
  bad.input =
      Value(at::full({8, 3, 8, 8}, std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(training.ByGraph(step, bad, 0.1));
  EXPECT_EQ(training.state.whole_step.done, StepPart::kNone);
  EXPECT_TRUE(step.TakeOutcomes().empty());
  // Not to be had back from a running mean of infinity.
  for (auto& [name, buffer] : training.net->NamedBuffers()) buffer.zero_();
  EXPECT_TRUE(training.ByGraph(step, BatchOf(8), 0.1));
}

TEST_F(CompiledStepTest, IsLeftToTheLoopWhereAHookSkipsIt) {
  Training training(NesterovSgd);
  CompiledStep step(setup_);
  training.Eagerly(BatchOf(8), 0.1);
  training.state.control.SkipStep("a test asks for it");
  EXPECT_FALSE(training.ByGraph(step, BatchOf(8), 0.1));
  EXPECT_EQ(training.state.whole_step.done, StepPart::kNone);
}

TEST_F(CompiledStepTest, IsUnsuitableForAnAverageThatCountsBatches) {
  Training training(NesterovSgd);
  training.state.supergradients_compat = true;
  FitContext context(training.state);
  ASSERT_TRUE(training.ema.FitBegin(context).ok());
  CompiledStep step(setup_);
  training.Eagerly(BatchOf(8), 0.1);
  EXPECT_FALSE(training.ByGraph(step, BatchOf(8), 0.1));
  const std::vector<Outcome> outcomes = step.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_TRUE(outcomes[0].unsuitable);
  EXPECT_NE(outcomes[0].reason.find("compat: supergradients"),
            std::string::npos);
}

}  // namespace
}  // namespace slipway::compile
