#include "trainer/nn/layers/dropout.h"

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

TEST(DropPath, DropsWholeSamplesAndScalesTheOthers) {
  at::manual_seed(1);
  const auto drop = DropPath(0.25);
  const at::Tensor out = drop->Run(at::ones({4000, 2, 3}));
  const at::Tensor first = out.select(1, 0).select(1, 0);
  EXPECT_TRUE(out.eq(first.reshape({4000, 1, 1})).all().item<bool>());
  EXPECT_TRUE(
      first.eq(0).logical_or(first.eq(1.0f / 0.75f)).all().item<bool>());
  // Five standard deviations of the mean: 5 sqrt(0.25 0.75 / 4000) / 0.75.
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.046);
}

TEST(DropPath, PassesGradientsOnlyThroughWhatItKept) {
  at::manual_seed(1);
  const at::Tensor x = at::ones({50, 2}).set_requires_grad(true);
  const at::Tensor out = DropPath(0.5)->Run(x);
  out.sum().backward();
  EXPECT_TRUE(x.grad().equal(out.detach()));
}

TEST(DropPath, DropsAllAtProbabilityOne) {
  EXPECT_EQ(DropPath(1)->Run(at::ones({5, 2})).sum().item<double>(), 0);
}

TEST(DropPath, IsTheIdentityOtherwise) {
  const at::Tensor x = at::ones({50, 2});
  EXPECT_TRUE(DropPath(0)->Run(x).is_same(x));
  const auto drop = DropPath(0.5);
  drop->Train(false);
  EXPECT_TRUE(drop->Run(x).is_same(x));
}

TEST(DropoutDeathTest, RefusesWhatIsNoProbability) {
  EXPECT_DEATH(Dropout(1.5), "1.5 is not a probability");
  EXPECT_DEATH(DropPath(-0.1), "-0.1 is not a probability");
}

}  // namespace
}  // namespace slipway::nn
