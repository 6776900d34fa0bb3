#include "trainer/loop/clip.h"

#include <cmath>
#include <limits>

#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

std::vector<at::Tensor> Gradients(double a, double b) {
  return {at::full({4}, a), at::full({3, 3}, b)};
}

// sqrt(4 * 3^2 + 9 * 2^2) = sqrt(72).
TEST(ClipGradientNorm, ScalesDownToTheNorm) {
  const std::vector<at::Tensor> gradients = Gradients(3, 2);
  const at::Tensor norm = ClipGradientNorm(gradients, 1);
  EXPECT_NEAR(norm.item().toDouble(), std::sqrt(72.0), 1e-5);
  EXPECT_NEAR(gradients[0][0].item().toDouble(), 3 / std::sqrt(72.0), 1e-5);
  EXPECT_NEAR(gradients[1][2][1].item().toDouble(), 2 / std::sqrt(72.0), 1e-5);
}

TEST(ClipGradientNorm, LeavesSmallGradientsAlone) {
  const std::vector<at::Tensor> gradients = Gradients(3, 2);
  ClipGradientNorm(gradients, 10);
  EXPECT_EQ(gradients[0][0].item().toDouble(), 3);
  EXPECT_EQ(gradients[1][0][0].item().toDouble(), 2);
}

TEST(ClipGradientNorm, IsNotFiniteWhereAGradientIsNot) {
  const std::vector<at::Tensor> gradients =
      Gradients(1, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::isfinite(ClipGradientNorm(gradients, 1).item().toDouble()));
}

TEST(ClipGradientNorm, HasNoNormOfNothing) {
  EXPECT_FALSE(ClipGradientNorm({}, 1).defined());
}

}  // namespace
}  // namespace slipway::loop
