#include "trainer/loop/lr_plan.h"

#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "plugins/lr_warmup/warmups.h"
#include "plugins/optim/schedules.h"

namespace slipway::loop {
namespace {

using lr_warmup::LinearBatchWarmup;
using lr_warmup::LinearEpochWarmup;
using optim::CosineSchedule;
using optim::ExponentialSchedule;
using optim::PeriodicStepSchedule;
using optim::PolySchedule;
using optim::StepSchedule;

// A training of 6 batches an epoch with one group of rate 0.1, unless said.
struct Training {
  std::string name;
  LrPlanOptions options;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<const Warmup> warmup = {};
  double initial_lr = 0.1;
  // Without compat: the rate of each optimizer step.
  std::vector<double> expected = {};

  LrPlan Plan(bool compat) const {
    LrPlanOptions chosen = options;
    chosen.compat = compat;
    return LrPlan(chosen, schedule.get(), warmup.get(),
                  {{"default", initial_lr}});
  }
};

LrPlanOptions Epochs(int64_t epochs, int64_t accumulate = 1,
                     int64_t cooldown = 0) {
  return {.max_epochs = epochs,
          .batches_per_epoch = 6,
          .accumulate = accumulate,
          .cooldown_epochs = cooldown};
}

void PrintTo(const Training& training, std::ostream* out) {
  *out << training.name;
}

std::string Name(const testing::TestParamInfo<Training>& info) {
  return info.param.name;
}

std::vector<double> RatesOfSteps(const LrPlan& plan) {
  std::vector<double> rates;
  for (int64_t step = 0; step < plan.total_steps(); ++step) {
    rates.push_back(plan.At(step)[0]);
  }
  return rates;
}

// --- What SuperGradients does ------------------------------------------------

class SuperGradientsTrace : public testing::TestWithParam<Training> {};

TEST_P(SuperGradientsTrace, IsReproducedToSixDigits) {
  std::ifstream file("trainer/loop/testdata/lr_traces.json");
  const nlohmann::json traces = nlohmann::json::parse(file);
  const std::vector<double> measured =
      traces.at(GetParam().name).at("lr_used_by_step");
  Training training = GetParam();
  // One value was measured per batch; gradients were summed over windows that
  // cross the ends of epochs.
  training.options.carry_over = true;
  const LrPlan plan = training.Plan(true);
  ASSERT_EQ(measured.size(), training.options.max_epochs * 6);
  for (size_t batch = 0; batch < measured.size(); ++batch) {
    const double planned = plan.At(batch / training.options.accumulate)[0];
    EXPECT_NEAR(planned / measured[batch], 1, 5e-6) << "batch " << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Measured, SuperGradientsTrace,
    testing::Values(
        Training{"s_base", Epochs(2), CosineSchedule(0.01)},
        Training{"s_epochwarm", Epochs(4), CosineSchedule(0.01),
                 LinearEpochWarmup(2, {})},
        Training{"s_epochwarm_init", Epochs(4), CosineSchedule(0.01),
                 LinearEpochWarmup(2, {.all = 1e-3})},
        Training{"s_batchwarm", Epochs(4), CosineSchedule(0.01),
                 LinearBatchWarmup(4, {.all = 1e-3})},
        Training{"s_batchwarm_cap", Epochs(4), CosineSchedule(0.01),
                 LinearBatchWarmup(1000, {.all = 1e-3})},
        Training{"s_cool", Epochs(4, 1, 1), CosineSchedule(0.01)},
        Training{"s_poly", Epochs(4), PolySchedule(), LinearEpochWarmup(1, {})},
        Training{"s_step", Epochs(4), StepSchedule({1, 3}, 0.1)},
        Training{"s_exp", Epochs(4), ExponentialSchedule(0.5)},
        Training{"s_stepfreq", Epochs(4), PeriodicStepSchedule(1.5, 0.1)},
        Training{"s_acc", Epochs(4, 4), PolySchedule()},
        Training{"s_groups", Epochs(4), CosineSchedule(0.01), nullptr, 0.01}),
    Name);

TEST(SuperGradientsPlan, IgnoresCooldownBehindAWarmupInSteps) {
  const Training training{"", Epochs(4, 1, 2), CosineSchedule(0.01),
                          LinearBatchWarmup(4, {.all = 1e-3})};
  const LrPlan plan = training.Plan(true);
  // The curve passes its end and rises again.
  EXPECT_LT(plan.At(13)[0], plan.At(23)[0]);
}

TEST(SuperGradientsPlan, RunsOtherSchedulesBeneathAWarmupInSteps) {
  const Training training{"", Epochs(4), ExponentialSchedule(0.5),
                          LinearBatchWarmup(4, {.all = 1e-3})};
  const LrPlan plan = training.Plan(true);
  EXPECT_NEAR(plan.At(3)[0], 0.1, 1e-12);
  // Four steps of the schedule are over, of which the last was at batch 3.
  EXPECT_NEAR(plan.At(4)[0], 0.1 * std::pow(0.5, 3.0 / 6), 1e-12);
}

TEST(SuperGradientsPlan, KeepsTheWarmupsLastRateUntilTheScheduleStarts) {
  const Training training{"", Epochs(4), CosineSchedule(0.01),
                          LinearBatchWarmup(1, {.all = 1e-3})};
  const LrPlan plan = training.Plan(true);
  // A warm-up of one step never reaches the rate; Cosine then starts at it.
  EXPECT_DOUBLE_EQ(plan.At(0)[0], 1e-3);
  EXPECT_DOUBLE_EQ(plan.At(1)[0], 1e-3);
  EXPECT_DOUBLE_EQ(plan.At(2)[0], 0.1);
}

// lr_warmup_steps without LinearBatchLRWarmup: no warm-up, but a wait.
TEST(SuperGradientsPlan, WaitsForStepsThatNothingWarmsUpIn) {
  const Training training{"", Epochs(4), CosineSchedule(0),
                          lr_warmup::Awaited(lr_warmup::NoWarmup({}), 0, 10)};
  const LrPlan plan = training.Plan(true);
  EXPECT_DOUBLE_EQ(plan.At(0)[0], 0.1);
  EXPECT_DOUBLE_EQ(plan.At(11)[0], 0.1);
  EXPECT_NEAR(plan.At(12)[0], 0.05 * (1 + std::cos(M_PI / 15)), 1e-12);
}

// Warm-up in epochs and lr_warmup_steps: each epoch begins with the former, and
// from the steps on Cosine overwrites it with its own start.
TEST(SuperGradientsPlan, LetsCosineCutIntoAWarmupInEpochs) {
  const Training training{
      "", Epochs(6), CosineSchedule(0),
      lr_warmup::Awaited(LinearEpochWarmup(3, {.all = 0.01}), 3, 4)};
  const LrPlan plan = training.Plan(true);
  const std::vector<double> expected = {
      0.01, 0.01, 0.01, 0.01, 0.01, 0.1,  // written after batch 4
      0.04, 0.1, 0.1, 0.1, 0.1, 0.1,      // epoch 1 begins, and so on
      0.07, 0.1, 0.1, 0.1, 0.1, 0.1,
      // 18 batches less 4 of the curve are left; it starts 4 batches late.
      0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  for (size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(plan.At(step)[0], expected[step], 1e-12) << "step " << step;
  }
  EXPECT_NEAR(plan.At(24)[0], 0.05 * (1 + std::cos(M_PI / 15)), 1e-12);
}

// The same numbers under LinearBatchLRWarmup.
TEST(SuperGradientsPlan, DelaysCosineByTheEpochsTooBehindAWarmupInSteps) {
  const Training training{
      "", Epochs(6), CosineSchedule(0),
      lr_warmup::Awaited(LinearBatchWarmup(4, {.all = 0.01}), 3, 4)};
  const LrPlan plan = training.Plan(true);
  EXPECT_NEAR(plan.At(1)[0], 0.04, 1e-12);
  EXPECT_NEAR(plan.At(23)[0], 0.1, 1e-12);
  EXPECT_NEAR(plan.At(24)[0], 0.05 * (1 + std::cos(M_PI / 15)), 1e-12);
}

TEST(SuperGradientsPlan, ClosesWindowsWithTheirEpochUnlessCarriedOver) {
  const Training training{"", Epochs(2, 4), ExponentialSchedule(0.5)};
  const LrPlan plan = training.Plan(true);
  EXPECT_EQ(plan.total_steps(), 4);
  // Steps end with the batches 3 and 5 of each epoch.
  const std::vector<double> batches = {0, 3, 5, 9};
  for (int step = 0; step < 4; ++step) {
    EXPECT_NEAR(plan.At(step)[0], 0.1 * std::pow(0.5, batches[step] / 6), 1e-12)
        << "step " << step;
  }
}

TEST(SuperGradientsPlan, KeepsStepDecayGoingInCooldown) {
  const Training training{"", Epochs(4, 1, 3), StepSchedule({2}, 0.1)};
  const LrPlan plan = training.Plan(true);
  EXPECT_DOUBLE_EQ(plan.At(17)[0], 0.1);
  EXPECT_DOUBLE_EQ(plan.At(18)[0], 0.01);
}

// --- The right behaviour -----------------------------------------------------

class CorrectedTrace : public testing::TestWithParam<Training> {};

TEST_P(CorrectedTrace, HasTheRateOfEachStep) {
  const std::vector<double> rates = RatesOfSteps(GetParam().Plan(false));
  ASSERT_EQ(rates.size(), GetParam().expected.size());
  for (size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(rates[step], GetParam().expected[step], 5e-7)
        << "step " << step;
  }
}

std::vector<double> Join(std::vector<std::vector<double>> parts) {
  std::vector<double> all;
  for (const std::vector<double>& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<double> Times(int count, double value) {
  return std::vector<double>(count, value);
}

// Cosine from 0.1 over 12 steps: what SuperGradients computes, a step earlier.
const std::vector<double>& Cosine12() {
  static const auto& values = *new std::vector<double>{
      0.1,       0.0985616, 0.0943301, 0.0875513, 0.0786192, 0.0680529,
      0.0564666, 0.0445334, 0.0329471, 0.0223808, 0.0134487, 0.0066699};
  return values;
}

INSTANTIATE_TEST_SUITE_P(
    Planned, CorrectedTrace,
    testing::Values(
        Training{"no_schedule", Epochs(1), nullptr, nullptr, 0.1,
                 Times(6, 0.1)},
        Training{"no_lag", Epochs(2), CosineSchedule(0.01), nullptr, 0.1,
                 Cosine12()},
        Training{"warmup_in_epochs", Epochs(4), CosineSchedule(0.01),
                 LinearEpochWarmup(2, {.all = 1e-3}), 0.1,
                 Join({Times(6, 0.001), Times(6, 0.0505), Cosine12()})},
        Training{"warmup_in_steps", Epochs(3), CosineSchedule(0.01),
                 LinearBatchWarmup(6, {.all = 0.05}), 0.1,
                 Join({{0.05, 0.06, 0.07, 0.08, 0.09, 0.1}, Cosine12()})},
        Training{"warmup_longer_than_an_epoch",
                 Epochs(3),
                 PolySchedule(),
                 LinearBatchWarmup(11, {.all = 0.0}),
                 0.1,
                 {0.00, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09,
                  0.1,  // and then 7 steps of Poly
                  0.1, 0.0870458, 0.0738728, 0.0604318, 0.0466467, 0.0323846,
                  0.0173545}},
        Training{"warmup_longer_than_the_training",
                 Epochs(1),
                 CosineSchedule(0.01),
                 LinearBatchWarmup(1000, {.all = 0.05}),
                 0.1,
                 {0.05, 0.06, 0.07, 0.08, 0.09, 0.1}},
        Training{"cooldown", Epochs(3, 1, 1), CosineSchedule(0.01), nullptr,
                 0.1, Join({Cosine12(), Times(6, Cosine12().back())})},
        Training{"cooldown_behind_warmup_in_steps", Epochs(4, 1, 1),
                 CosineSchedule(0.01), LinearBatchWarmup(6, {.all = 0.05}), 0.1,
                 Join({{0.05, 0.06, 0.07, 0.08, 0.09, 0.1},
                       Cosine12(),
                       Times(6, Cosine12().back())})},
        Training{"cooldown_throughout", Epochs(1, 1, 1), CosineSchedule(0.01),
                 nullptr, 0.1, Times(6, 0.1)},
        Training{"step_at_the_epochs_named", Epochs(4),
                 StepSchedule({1, 3}, 0.1), nullptr, 0.1,
                 Join({Times(6, 0.1), Times(12, 0.01), Times(6, 0.001)})},
        Training{"step_with_a_frequency", Epochs(4),
                 PeriodicStepSchedule(1.5, 0.1), nullptr, 0.1,
                 Join({Times(12, 0.1), Times(6, 0.01), Times(6, 0.001)})},
        Training{"exponential",
                 Epochs(2, 3),
                 ExponentialSchedule(0.25),
                 nullptr,
                 0.1,
                 {0.1, 0.05, 0.025, 0.0125}},
        Training{"poly",
                 Epochs(1, 2),
                 PolySchedule(),
                 nullptr,
                 0.1,
                 {0.1, 0.0694254, 0.0372041}}),
    Name);

TEST(LrPlan, DependsOnOptimizerStepsAloneWhateverAWindowIs) {
  const auto cosine = CosineSchedule(0.01);
  const auto warmup = LinearBatchWarmup(4, {.all = 1e-3});
  const std::vector<LrGroup> groups = {{"default", 0.1}};
  const LrPlanOptions one = {.max_epochs = 3, .batches_per_epoch = 6};
  LrPlanOptions four = one;
  four.batches_per_epoch = 22;  // five windows of 4, and one of 2
  four.accumulate = 4;
  const LrPlan plan(one, cosine.get(), warmup.get(), groups);
  const LrPlan windows(four, cosine.get(), warmup.get(), groups);
  EXPECT_EQ(RatesOfSteps(plan), RatesOfSteps(windows));
}

TEST(LrPlan, PlacesCarriedWindowsAtTheirFirstBatch) {
  LrPlanOptions options = Epochs(4, 4);
  options.carry_over = true;
  const auto exponential = ExponentialSchedule(0.5);
  const LrPlan plan(options, exponential.get(), nullptr, {{"default", 0.1}});
  ASSERT_EQ(plan.total_steps(), 6);
  for (int step = 0; step < 6; ++step) {
    EXPECT_NEAR(plan.At(step)[0], 0.1 * std::pow(0.5, step * 4 / 6.0), 1e-12);
  }
}

TEST(LrPlan, GivesEachGroupItsOwnRate) {
  const auto exponential = ExponentialSchedule(0.5);
  const auto warmup =
      LinearEpochWarmup(1, {.all = 0.01, .by_group = {{"backbone", 0.001}}});
  const LrPlan plan(Epochs(2), exponential.get(), warmup.get(),
                    {{"backbone", 0.02}, {"default", 0.2}});
  EXPECT_EQ(plan.At(0), (std::vector<double>{0.001, 0.01}));
  EXPECT_EQ(plan.At(6), (std::vector<double>{0.02, 0.2}));
}

TEST(LrPlan, ScalesEveryRateByTheWarmupsFactor) {
  const auto warmup = lr_warmup::LinearEpochWarmup(
      1, {.all = 0.05}, {.world_size = 3, .has_schedule = true});
  for (const bool compat : {false, true}) {
    LrPlanOptions options = Epochs(200);
    options.compat = compat;
    const LrPlan plan(options, nullptr, warmup.get(), {{"default", 0.1}});
    EXPECT_NEAR(plan.At(5)[0], 0.05 * 1.01, 1e-12);
    EXPECT_NEAR(plan.At(500)[0], 0.1 * 2, 1e-12);
    EXPECT_NEAR(plan.At(1000)[0], 0.1 * 3, 1e-12);
  }
}

TEST(LrPlan, KeepsTheLastRateBeyondItsEnd) {
  const auto poly = PolySchedule();
  const LrPlan plan(Epochs(2), poly.get(), nullptr, {{"default", 0.1}});
  EXPECT_EQ(plan.At(12), plan.At(11));
  EXPECT_EQ(plan.At(1000), plan.At(11));
}

// O10 of tests/bug_reports.md, with SuperGradients' formula: a cosine over one
// step more than there are.
TEST(LrPlan, NeverRisesAgainAfterTheCosine) {
  const auto cosine = CosineSchedule(0);
  const LrPlan plan({.max_epochs = 1, .batches_per_epoch = 5}, cosine.get(),
                    nullptr, {{"default", 0.5}});
  const double kPi = std::acos(-1.0);
  for (int k = 0; k < 5; ++k) {
    EXPECT_NEAR(plan.At(k)[0], 0.25 * (1 + std::cos(kPi * k / 6)), 1e-12);
  }
  for (int k = 5; k <= 20; ++k) EXPECT_EQ(plan.At(k), plan.At(4));
  const auto floor = CosineSchedule(0.2);
  const LrPlan floored({.max_epochs = 1, .batches_per_epoch = 1000},
                       floor.get(), nullptr, {{"default", 0.5}});
  EXPECT_NEAR(floored.At(5000)[0], 0.1, 1e-5);
}

TEST(LrPlan, IsANumberWhereTheCosineHasOneStepOrNone) {
  const auto cosine = CosineSchedule(0);
  const LrPlan one({.max_epochs = 1}, cosine.get(), nullptr,
                   {{"default", 0.5}});
  EXPECT_EQ(one.At(0)[0], 0.5);
  const auto warmup = LinearEpochWarmup(2, {});
  const LrPlan none({.max_epochs = 2, .batches_per_epoch = 3}, cosine.get(),
                    warmup.get(), {{"default", 0.5}});
  for (int k = 0; k < 8; ++k) {
    EXPECT_GT(none.At(k)[0], 0) << k;
    EXPECT_LE(none.At(k)[0], 0.5) << k;
  }
}

TEST(LrPlan, AnswersForVeryLongTrainingsAtOnce) {
  const auto cosine = CosineSchedule(0);
  const LrPlan plan({.max_epochs = 1'000'000, .batches_per_epoch = 1'000'000},
                    cosine.get(), nullptr, {{"default", 0.1}});
  EXPECT_EQ(plan.total_steps(), 1'000'000'000'000);
  EXPECT_NEAR(plan.At(500'000'000'000)[0], 0.05, 1e-9);
}

// --- Warnings ----------------------------------------------------------------

TEST(LrPlanCheck, SaysNothingAboutAPlanThatFits) {
  const auto poly = PolySchedule();
  const auto warmup = LinearEpochWarmup(2, {});
  EXPECT_TRUE(
      LrPlan(Epochs(4, 1, 1), poly.get(), warmup.get(), {}).Check().empty());
}

TEST(LrPlanCheck, WarnsWhenNoEpochIsLeft) {
  const auto poly = PolySchedule();
  const auto warmup = LinearEpochWarmup(2, {});
  EXPECT_EQ(FormatProblems(
                LrPlan(Epochs(4, 1, 2), poly.get(), warmup.get(), {}).Check()),
            "warning: lr_warmup_epochs 2 and lr_cooldown_epochs 2 leave no "
            "epoch of max_epochs 4 to the schedule\n"
            "  hint:   train longer, or shorten warm-up and cooldown\n");
}

TEST(LrPlanCheck, WarnsOfAWarmupThatIsCut) {
  const auto cosine = CosineSchedule(0.01);
  const auto warmup = LinearBatchWarmup(1000, {.all = 0.0});
  LrPlanOptions options = Epochs(4);
  EXPECT_EQ(
      FormatProblems(LrPlan(options, cosine.get(), warmup.get(), {}).Check()),
      "warning: lr_warmup_steps 1000 is longer than it can last\n"
      "  detail: it ends with the 24 steps before cooldown, and no schedule "
      "follows\n"
      "  hint:   set lr_warmup_steps to less than 24\n");
  options.compat = true;
  EXPECT_EQ(
      FormatProblems(LrPlan(options, cosine.get(), warmup.get(), {}).Check()),
      "warning: lr_warmup_steps 1000 is longer than it can last\n"
      "  detail: as in SuperGradients it ends with the first epoch's 6 "
      "batches, "
      "but Cosine waits for all of it\n"
      "  hint:   set lr_warmup_steps to less than 6\n");
}

}  // namespace
}  // namespace slipway::loop
