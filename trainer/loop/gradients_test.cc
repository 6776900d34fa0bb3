#include "trainer/loop/gradients.h"

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

TEST(AllFinite, FindsOneBadValue) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::nan("")}) {
    const std::vector<at::Tensor> gradients = Gradients(1, 2);
    EXPECT_TRUE(AllFinite(gradients));
    gradients[1][2][0].fill_(bad);
    EXPECT_FALSE(AllFinite(gradients)) << bad;
  }
  EXPECT_TRUE(AllFinite({}));
}

class Groups : public Optimizer {
 public:
  explicit Groups(std::vector<ParameterGroup> groups)
      : Optimizer(std::move(groups)) {}
  absl::Status Step(const std::vector<double>&) override {
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, OptimizerState>> State() const override {
    return {};
  }
  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>&) override {
    return absl::OkStatus();
  }
};

TEST(GradientsOf, LeavesOutParametersWithoutOne) {
  at::Tensor with = at::full({2}, 1.0).requires_grad_();
  const at::Tensor without = at::full({2}, 1.0).requires_grad_();
  with.mutable_grad() = at::full({2}, 5.0);
  ParameterGroup group;
  group.parameters = {{"without", without}, {"with", with}};
  const std::vector<at::Tensor> gradients = GradientsOf(Groups({group}));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].data_ptr(), with.grad().data_ptr());
}

TEST(ClipGradientNorm, HasNoNormOfNothing) {
  EXPECT_FALSE(ClipGradientNorm({}, 1).defined());
}

}  // namespace
}  // namespace slipway::loop
