#include "plugins/ema/decay.h"

#include <cmath>

#include "gtest/gtest.h"

namespace slipway::ema {
namespace {

TEST(Decay, StaysConstant) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kConstant};
  EXPECT_EQ(decay.At(1, 100), 0.9);
  EXPECT_EQ(decay.At(100, 100), 0.9);
}

TEST(Decay, GrowsToAThreshold) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kThreshold};
  EXPECT_DOUBLE_EQ(decay.At(1, 1000), 2.0 / 11);
  EXPECT_DOUBLE_EQ(decay.At(40, 1000), 41.0 / 50);
  EXPECT_DOUBLE_EQ(decay.At(79, 1000), 80.0 / 89);
  EXPECT_EQ(decay.At(81, 1000), 0.9);
}

TEST(Decay, GrowsExponentiallyWithTheTraining) {
  const Decay decay = {.decay = 0.5, .type = DecayType::kExp, .beta = 10};
  EXPECT_DOUBLE_EQ(decay.At(1, 1000), 0.5 * (1 - std::exp(-0.01)));
  EXPECT_DOUBLE_EQ(decay.At(100, 1000), 0.5 * (1 - std::exp(-1.0)));
  EXPECT_NEAR(decay.At(1000, 1000), 0.5, 1e-4);
}

TEST(Decay, HasSuperGradientsDefaults) {
  EXPECT_DOUBLE_EQ(Decay().At(100, 1000), 0.9999 * (1 - std::exp(-1.5)));
}

TEST(Decay, IsDefinedForATrainingOfUnknownLength) {
  const Decay decay;
  EXPECT_NEAR(decay.At(1, 0), 0.9999, 1e-6);
}

}  // namespace
}  // namespace slipway::ema
