#include "plugins/amp/loss_scaler.h"

#include <limits>
#include <vector>

#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace slipway::amp {
namespace {

constexpr LossScalerOptions kSmall = {.initial_scale = 8, .growth_interval = 3};

std::vector<at::Tensor> Gradients(double first, double second) {
  return {at::full({2, 3}, first), at::full({4}, second)};
}

TEST(LossScaler, StartsAsTorchDoes) {
  EXPECT_EQ(LossScaler(at::kCPU).scale(), 65536);
}

TEST(LossScaler, ScalesTheLossAndItsGradient) {
  LossScaler scaler(at::kCPU, kSmall);
  const at::Tensor p = at::full({}, 3.0).requires_grad_(true);
  const at::Tensor scaled = scaler.Scale(p.mul(2));
  EXPECT_EQ(scaled.item<double>(), 48);
  scaled.backward();
  EXPECT_EQ(p.grad().item<double>(), 16);
  EXPECT_EQ(scaler.Unscale({p.grad()}).item<double>(), 0);
  EXPECT_EQ(p.grad().item<double>(), 2);
}

TEST(LossScaler, UnscalesInPlaceAndFindsNothingInGoodGradients) {
  LossScaler scaler(at::kCPU, kSmall);
  const auto gradients = Gradients(16, -4);
  const at::Tensor found = scaler.Unscale(gradients);
  EXPECT_EQ(found.scalar_type(), at::kFloat);
  EXPECT_EQ(found.dim(), 0);
  EXPECT_EQ(found.item<double>(), 0);
  EXPECT_TRUE(gradients[0].equal(at::full({2, 3}, 2.0)));
  EXPECT_TRUE(gradients[1].equal(at::full({4}, -0.5)));
}

TEST(LossScaler, FindsOneValueThatIsNotFinite) {
  for (const double bad : {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    LossScaler scaler(at::kCPU, kSmall);
    const auto gradients = Gradients(1, 1);
    gradients[1][3].fill_(bad);
    EXPECT_EQ(scaler.Unscale(gradients).item<double>(), 1) << bad;
  }
}

TEST(LossScaler, FindsNothingInNothing) {
  LossScaler scaler(at::kCPU, kSmall);
  EXPECT_EQ(scaler.Unscale({}).item<double>(), 0);
}

TEST(LossScaler, GrowsAfterGoodStepsInARow) {
  LossScaler scaler(at::kCPU, kSmall);
  scaler.Update(false);
  scaler.Update(false);
  EXPECT_EQ(scaler.scale(), 8);
  scaler.Update(false);
  EXPECT_EQ(scaler.scale(), 16);
}

TEST(LossScaler, ShrinksAtOnceAndCountsAnew) {
  LossScaler scaler(at::kCPU, kSmall);
  scaler.Update(false);
  scaler.Update(false);
  scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 4);
  scaler.Update(false);
  scaler.Update(false);
  EXPECT_EQ(scaler.scale(), 4);
  scaler.Update(false);
  EXPECT_EQ(scaler.scale(), 8);
}

TEST(LossScaler, GoesOnFromItsState) {
  LossScaler before(at::kCPU, kSmall);
  before.Update(true);
  before.Update(false);
  before.Update(false);
  LossScaler after(at::kCPU, kSmall);
  auto own = after.State();
  const auto saved = before.State();
  ASSERT_EQ(own.size(), 2u);
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].first, saved[i].first);
    own[i].second.copy_(saved[i].second);
  }
  EXPECT_EQ(after.scale(), 4);
  after.Update(false);
  EXPECT_EQ(after.scale(), 8);
}

// O04 of tests/bug_reports.md.
TEST(LossScaler, KeepsItsTrackerOverARestart) {
  const LossScalerOptions options = {.initial_scale = 65536,
                                     .growth_interval = 4};
  LossScaler before(at::kCPU, options);
  for (const bool overflow : {false, true, false, false, false}) {
    before.Update(overflow);
  }
  const auto saved = before.State();
  EXPECT_EQ(saved[0].second.item<double>(), 32768);
  EXPECT_EQ(saved[1].second.item<int>(), 3);

  LossScaler after(at::kCPU, options);
  auto loaded = after.State();
  for (size_t i = 0; i < loaded.size(); ++i) {
    loaded[i].second.copy_(saved[i].second);
  }
  after.Update(false);
  EXPECT_EQ(after.scale(), 65536);
  EXPECT_EQ(after.State()[1].second.item<int>(), 0);
}

}  // namespace
}  // namespace slipway::amp
