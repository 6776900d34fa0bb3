#include "plugins/lr_warmup/warmups.h"

#include <vector>

#include "gtest/gtest.h"

namespace slipway::lr_warmup {
namespace {

// 4 epochs of 6 batches, unless said otherwise.
SchedulePlace At(int64_t global_batch, int64_t warmup_steps = 0) {
  return {.epoch = global_batch / 6,
          .batch = global_batch % 6,
          .batches_per_epoch = 6,
          .max_epochs = 4,
          .warmup_steps = warmup_steps};
}

TEST(LinearEpochWarmup, ClimbsOncePerEpochFromItsOwnStart) {
  const auto warmup = LinearEpochWarmup(2, {});
  EXPECT_EQ(warmup->epochs(), 2);
  EXPECT_EQ(warmup->steps(), 0);
  EXPECT_NEAR(*warmup->Rate("default", 0.3, At(0)), 0.1, 1e-12);
  EXPECT_NEAR(*warmup->Rate("default", 0.3, At(5)), 0.1, 1e-12);
  EXPECT_NEAR(*warmup->Rate("default", 0.3, At(6)), 0.2, 1e-12);
  EXPECT_FALSE(warmup->Rate("default", 0.3, At(12)).has_value());
}

TEST(LinearEpochWarmup, StartsWhereTheRecipeSays) {
  const auto warmup = LinearEpochWarmup(2, {.all = 0.0});
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.3, At(0)), 0);
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.3, At(6)), 0.15);
}

TEST(LinearBatchWarmup, ReachesTheRateInItsLastStep) {
  const auto warmup = LinearBatchWarmup(4, {.all = 1e-3});
  EXPECT_EQ(warmup->epochs(), 0);
  EXPECT_EQ(warmup->steps(), 4);
  const std::vector<double> expected = {0.001, 0.034, 0.067, 0.1};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(*warmup->Rate("default", 0.1, At(i, 4)), expected[i], 1e-12);
  }
  EXPECT_FALSE(warmup->Rate("default", 0.1, At(4, 4)).has_value());
}

TEST(LinearBatchWarmup, ClimbsFasterWhereFewerStepsFit) {
  const auto warmup = LinearBatchWarmup(1000, {.all = 0.0});
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, At(10, 11)), 0.1);
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, At(5, 11)), 0.05);
}

TEST(LinearBatchWarmup, StartsAtItsStartWhenOneStepLong) {
  const auto warmup = LinearBatchWarmup(1, {.all = 0.02});
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, At(0, 1)), 0.02);
  EXPECT_FALSE(warmup->Rate("default", 0.1, At(1, 1)).has_value());
}

TEST(StartRates, PrefersTheGroupsOwn) {
  const auto warmup =
      LinearEpochWarmup(1, {.all = 0.02, .by_group = {{"backbone", 0.01}}});
  EXPECT_DOUBLE_EQ(*warmup->Rate("backbone", 0.1, At(0)), 0.01);
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, At(0)), 0.02);
}

TEST(NoWarmup, LeavesTheRateToTheSchedule) {
  const auto warmup = NoWarmup({.world_size = 2});
  EXPECT_EQ(warmup->epochs(), 0);
  EXPECT_EQ(warmup->steps(), 0);
  EXPECT_FALSE(warmup->Rate("default", 0.1, At(0)).has_value());
}

TEST(Awaited, ChangesWhatSchedulesWaitForOnly) {
  const auto plain = LinearEpochWarmup(2, {});
  EXPECT_EQ(plain->awaited_epochs(), 2);
  EXPECT_EQ(plain->awaited_steps(), 0);
  const auto warmup =
      Awaited(LinearEpochWarmup(2, {}, {.world_size = 2}), 3, 500);
  EXPECT_EQ(warmup->epochs(), 2);
  EXPECT_EQ(warmup->steps(), 0);
  EXPECT_EQ(warmup->awaited_epochs(), 3);
  EXPECT_EQ(warmup->awaited_steps(), 500);
  EXPECT_EQ(warmup->Rate("default", 0.3, At(7)),
            plain->Rate("default", 0.3, At(7)));
  EXPECT_DOUBLE_EQ(warmup->Factor(At(10)), 1.01);
}

TEST(AutoLr, DoesNothingOnOneRank) {
  EXPECT_EQ(AutoLr{}.Factor(At(3)), 1);
  EXPECT_EQ(NoWarmup({})->Factor(At(3)), 1);
}

struct AutoLrCase {
  const char* name;
  AutoLr auto_lr;
  SchedulePlace place;
  double factor;
};

class AutoLrFactor : public testing::TestWithParam<AutoLrCase> {};

TEST_P(AutoLrFactor, FollowsItsFormula) {
  EXPECT_NEAR(GetParam().auto_lr.Factor(GetParam().place), GetParam().factor,
              1e-12);
}

constexpr AutoLr kScheduled = {.world_size = 2, .has_schedule = true};
constexpr AutoLr kAlone = {.world_size = 4, .has_schedule = false};

SchedulePlace Long(int64_t epoch, int64_t batch) {
  return {.epoch = epoch,
          .batch = batch,
          .batches_per_epoch = 500,
          .max_epochs = 25};
}

INSTANTIATE_TEST_SUITE_P(
    Formulas, AutoLrFactor,
    testing::Values(AutoLrCase{"first_step", kScheduled, Long(0, 0), 1},
                    AutoLrCase{"fifth_step", kScheduled, Long(0, 4), 1.004},
                    AutoLrCase{"step_999", kScheduled, Long(1, 499), 1.999},
                    AutoLrCase{"step_1000", kScheduled, Long(2, 0), 2},
                    AutoLrCase{"later", kScheduled, Long(20, 3), 2},
                    // 25 epochs: two of them warm up.
                    AutoLrCase{"first_epoch", kAlone, Long(0, 499), 1},
                    AutoLrCase{"second_epoch", kAlone, Long(1, 0), 2.5},
                    AutoLrCase{"third_epoch", kAlone, Long(2, 0), 4},
                    // 24 steps: two of them warm up.
                    AutoLrCase{"short_first", kAlone, At(0), 1},
                    AutoLrCase{"short_second", kAlone, At(1), 2.5},
                    AutoLrCase{"short_third", kAlone, At(2), 4},
                    // Too short for a tenth of it.
                    AutoLrCase{"tiny",
                               kAlone,
                               {.batches_per_epoch = 3, .max_epochs = 3},
                               4}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(AutoLr, CountsStepsWherePlacesCountBatches) {
  SchedulePlace place = Long(0, 8);
  place.accumulate = 4;
  EXPECT_NEAR(kScheduled.Factor(place), 1.002, 1e-12);
}

}  // namespace
}  // namespace slipway::lr_warmup
