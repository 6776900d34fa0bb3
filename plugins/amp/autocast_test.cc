#include "plugins/amp/autocast.h"

#include <memory>

#include "ATen/core/Tensor.h"
#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace slipway::amp {
namespace {

// The type that a matrix product is computed in now.
at::ScalarType ProductType() {
  const at::Tensor a = at::full({4, 4}, 1.0);
  return a.mm(a).scalar_type();
}

TEST(Autocast, ComputesProductsInItsTypeUntilItEnds) {
  EXPECT_EQ(ProductType(), at::kFloat);
  {
    const auto scope = Autocast(at::kCPU, at::kBFloat16);
    EXPECT_EQ(ProductType(), at::kBFloat16);
  }
  EXPECT_EQ(ProductType(), at::kFloat);
}

TEST(Autocast, RestoresTheTypeAroundIt) {
  const auto outer = Autocast(at::kCPU, at::kBFloat16);
  {
    const auto inner = Autocast(at::kCPU, at::kHalf);
    EXPECT_EQ(ProductType(), at::kHalf);
  }
  EXPECT_EQ(ProductType(), at::kBFloat16);
}

TEST(Autocast, KeepsWeightsAndTheirGradientsInFloat32) {
  const at::Tensor weight = at::full({4, 4}, 0.5).requires_grad_(true);
  at::Tensor loss;
  {
    const auto scope = Autocast(at::kCPU, at::kBFloat16);
    loss = at::full({2, 4}, 1.0).mm(weight).sum();
  }
  loss.backward();
  EXPECT_EQ(weight.scalar_type(), at::kFloat);
  EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
  EXPECT_TRUE(weight.grad().equal(at::full({4, 4}, 2.0)));
}

// A cast that outlived its scope would hide what a step did to the weights.
TEST(Autocast, SeesWeightsThatChangedBetweenScopes) {
  const at::Tensor weight = at::full({4, 4}, 1.0).requires_grad_(true);
  const at::Tensor x = at::full({1, 4}, 1.0);
  for (const double expected : {4.0, 8.0}) {
    {
      const auto scope = Autocast(at::kCPU, at::kBFloat16);
      EXPECT_EQ(x.mm(weight)[0][0].item<double>(), expected);
    }
    weight.detach().mul_(2);
  }
}

}  // namespace
}  // namespace slipway::amp
