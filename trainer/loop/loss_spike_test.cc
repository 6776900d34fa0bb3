#include "trainer/loop/loss_spike.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using testing::HasSubstr;

LossSpike After(LossSpikeRule rule, const std::vector<double>& losses) {
  LossSpike spikes(rule);
  for (const double loss : losses) spikes.Add(loss);
  return spikes;
}

struct Case {
  const char* name;
  std::vector<double> losses;
  double deviations;
  // The largest loss that is no spike.
  double bound;
};

TEST(LossSpike, HasTheBoundOfItsFormula) {
  const Case cases[] = {
      // Median 3, distances 2 1 0 1 2: their median is 1.
      {"odd", {1, 2, 3, 4, 5}, 2, 3 + 2 * 1.4826},
      // Median 3.5, distances 2.5 1.5 0.5 0.5 1.5 2.5.
      {"even", {1, 2, 3, 4, 5, 6}, 2, 3.5 + 2 * 1.4826 * 1.5},
      {"in any order", {5, 1, 4, 2, 3}, 2, 3 + 2 * 1.4826},
      {"an outlier does not count", {1, 2, 3, 4, 500}, 2, 3 + 2 * 1.4826},
      {"below zero", {-1, -2, -3, -4, -5}, 4, -3 + 4 * 1.4826},
      {"a loss that does not move", {2, 2, 2, 2, 2}, 10, 2 + 10 * 0.02},
      {"small losses", {0.01, 0.02, 0.03, 0.04, 0.05}, 10, 0.03 + 0.14826},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto window = static_cast<int64_t>(c.losses.size());
    const LossSpike spikes =
        After({.deviations = c.deviations, .window = window}, c.losses);
    EXPECT_FALSE(spikes.Check(c.bound - 1e-9).has_value());
    EXPECT_TRUE(spikes.Check(c.bound + 1e-9).has_value());
    EXPECT_FALSE(spikes.Check(-1e9).has_value());
  }
}

TEST(LossSpike, KnowsNoneBeforeItsWindowIsFull) {
  LossSpike spikes({.deviations = 2, .window = 3});
  spikes.Add(1);
  spikes.Add(1);
  EXPECT_FALSE(spikes.Check(1e9).has_value());
  spikes.Add(1);
  EXPECT_TRUE(spikes.Check(1e9).has_value());
}

TEST(LossSpike, ForgetsWhatIsOlderThanItsWindow) {
  LossSpike spikes = After({.deviations = 2, .window = 3}, {100, 100, 100});
  EXPECT_FALSE(spikes.Check(100).has_value());
  for (int i = 0; i < 3; ++i) spikes.Add(1);
  EXPECT_TRUE(spikes.Check(100).has_value());
}

TEST(LossSpike, SaysHowFarOutTheLossIs) {
  const LossSpike spikes =
      After({.deviations = 2, .window = 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(*spikes.Check(3 + 1.4826 * 20),
            "the loss is 32.65, which is 20 deviations of 1.483 above 3, the "
            "median of the last 5 steps");
}

TEST(LossSpike, KeepsTheNewestOfALongerWindow) {
  const LossSpike longer = After({.deviations = 2, .window = 4}, {9, 1, 2, 3});
  LossSpike spikes({.deviations = 2, .window = 3});
  spikes.set_losses(longer.losses());
  EXPECT_EQ(spikes.losses(), (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace slipway::loop
