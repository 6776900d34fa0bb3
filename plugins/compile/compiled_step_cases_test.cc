// Whole steps with other optimizers, guards and precisions.
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "plugins/compile/test_training.h"

namespace slipway::compile {
namespace {

TEST_F(CompiledStepTest, IsTheSameTrainingWithAdamW) {
  Training compiled(AdamW);
  Training eager(AdamW);
  for (Training* training : {&compiled, &eager}) {
    // Batch norm makes its gradient zero but for rounding, and Adam that large.
    ASSERT_EQ(training->net->NamedParameters()[1].first, "0.bias");
    training->net->NamedParameters()[1].second.set_requires_grad(false);
  }
  TrainBoth(compiled, eager);
  ExpectEqual(compiled, eager, 1e-4);
}

TEST_F(CompiledStepTest, IsTheSameTrainingWithoutMomentumAndWithoutGuard) {
  const MakeOptimizer plain =
      [](std::vector<ParameterGroup> groups) -> std::unique_ptr<Optimizer> {
    return std::make_unique<optim::Sgd>(
        std::move(groups), optim::SgdOptions{.momentum = 0, .weight_decay = 0});
  };
  Training compiled(plain);
  Training eager(plain);
  for (Training* training : {&compiled, &eager}) {
    training->state.whole_step.guard = StepGuard::kNone;
    // There is no state to wait for: the first step could be compiled.
    Seed(11);
    training->Eagerly(BatchOf(8), 0);
  }
  CompiledStep step(setup_);
  for (int i = 0; i < 4; ++i) {
    Seed(i);
    EXPECT_TRUE(compiled.ByGraph(step, BatchOf(8), 0.1));
    Seed(i);
    eager.Eagerly(BatchOf(8), 0.1);
  }
  ExpectEqual(compiled, eager);
}

TEST_F(CompiledStepTest, IsTheSameTrainingInMixedPrecision) {
  Training compiled(NesterovSgd);
  Training eager(NesterovSgd);
  compiled.autocast = true;
  eager.autocast = true;
  TrainBoth(compiled, eager);
  ExpectEqual(compiled, eager, 5e-3);
}

TEST_F(CompiledStepTest, LooksAtGradientsWhereTheRecipeSkipsBadSteps) {
  Training compiled(NesterovSgd);
  Training eager(NesterovSgd);
  for (Training* training : {&compiled, &eager}) {
    training->state.whole_step.guard = StepGuard::kGradients;
    training->loss.delicate = true;
  }
  TrainBoth(compiled, eager);
  ExpectEqual(compiled, eager);
  CompiledStep step(setup_);
  ASSERT_TRUE(compiled.ByGraph(step, BatchOf(8), 0.1));
  data::Batch bad = BatchOf(8);
  bad.target.tensor().zero_();
  EXPECT_FALSE(compiled.ByGraph(step, bad, 0.1));
  EXPECT_EQ(compiled.state.whole_step.done, StepPart::kAll);
  EXPECT_LT(compiled.losses.back(), 100);
  for (const auto& [name, tensor] : compiled.optimizer->State()) {
    for (const auto& [key, value] : tensor) {
      EXPECT_TRUE(value.isfinite().all().item().toBool()) << name;
    }
  }
}

}  // namespace
}  // namespace slipway::compile
