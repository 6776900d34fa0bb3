#include "plugins/optim/schedules.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::optim {
namespace {

using recipe::Node;

// 4 epochs of 6 batches.
SchedulePlace At(int64_t global_batch) {
  return {.epoch = global_batch / 6,
          .batch = global_batch % 6,
          .batches_per_epoch = 6,
          .max_epochs = 4};
}

TEST(CosineSchedule, FallsFromTheRateTowardsItsShare) {
  const auto cosine = CosineSchedule(0.01);
  EXPECT_DOUBLE_EQ(cosine->Rate(0.1, At(0)), 0.1);
  // Half way of 24 + 1 batches lies between the batches 12 and 13.
  const double below = cosine->Rate(0.1, At(13));
  const double above = cosine->Rate(0.1, At(12));
  EXPECT_NEAR((below + above) / 2, 0.0505, 1e-12);
  EXPECT_NEAR(cosine->Rate(0.1, At(23)), 0.00255513, 1e-8);
  EXPECT_GT(cosine->Rate(0.1, At(23)), 0.001);
}

TEST(CosineSchedule, StartsAfterWarmupAndEndsBeforeCooldown) {
  const auto cosine = CosineSchedule(0);
  SchedulePlace place = At(10);
  place.warmup_epochs = 1;
  place.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(cosine->Rate(0.1, place), 0.1);
  // 2 epochs less 4 steps are left, so that 12 - 4 = 8 + 1 halves are one turn.
  place = At(13);
  place.warmup_epochs = 1;
  place.cooldown_epochs = 1;
  place.warmup_steps = 4;
  EXPECT_NEAR(cosine->Rate(0.1, place), 0.075, 1e-12);
}

TEST(PolySchedule, FallsAsAPowerOfWhatIsLeft) {
  const auto poly = PolySchedule();
  EXPECT_DOUBLE_EQ(poly->Rate(0.2, At(0)), 0.2);
  EXPECT_NEAR(poly->Rate(0.2, At(12)), 0.2 * 0.535886731, 1e-9);
  EXPECT_FALSE(poly->per_epoch());
}

TEST(ExponentialSchedule, FallsByItsFactorInAnEpoch) {
  const auto exponential = ExponentialSchedule(0.5);
  EXPECT_DOUBLE_EQ(exponential->Rate(0.1, At(6)), 0.05);
  EXPECT_NEAR(exponential->Rate(0.1, At(3)), 0.0707106781, 1e-9);
  EXPECT_DOUBLE_EQ(exponential->Rate(0.1, At(18)), 0.0125);
}

TEST(StepSchedule, FallsAtTheEpochsItNames) {
  const auto step = StepSchedule({1, 3}, 0.1);
  EXPECT_TRUE(step->per_epoch());
  EXPECT_DOUBLE_EQ(step->Rate(0.1, At(5)), 0.1);
  EXPECT_DOUBLE_EQ(step->Rate(0.1, At(6)), 0.01);
  EXPECT_DOUBLE_EQ(step->Rate(0.1, At(17)), 0.01);
  EXPECT_NEAR(step->Rate(0.1, At(18)), 0.001, 1e-12);
}

SchedulePlace Epoch(int64_t epoch, int64_t warmup = 0, int64_t cooldown = 0) {
  return {.epoch = epoch,
          .max_epochs = 10,
          .warmup_epochs = warmup,
          .cooldown_epochs = cooldown};
}

TEST(PeriodicStepSchedule, FallsAtEveryMultipleRoundedUp) {
  const auto step = PeriodicStepSchedule(2.4, 0.5);
  // ceil(2.4), ceil(4.8), ceil(7.2), ceil(9.6) = 3, 5, 8, 10.
  const std::vector<int> passed = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3};
  for (int epoch = 0; epoch < 10; ++epoch) {
    EXPECT_DOUBLE_EQ(step->Rate(1, Epoch(epoch)), std::pow(0.5, passed[epoch]))
        << "epoch " << epoch;
  }
}

TEST(PeriodicStepSchedule, LeavesWarmupAndCooldownAlone) {
  const auto step = PeriodicStepSchedule(2.4, 0.5);
  EXPECT_DOUBLE_EQ(step->Rate(1, Epoch(9, 4, 0)), 0.25);
  EXPECT_DOUBLE_EQ(step->Rate(1, Epoch(9, 0, 3)), 0.25);
}

// The recipe {training_hyperparams: hyperparameters}.
Node Recipe(std::vector<std::pair<std::string, Node>> hyperparameters) {
  Node map = Node::Map();
  for (auto& [key, value] : hyperparameters) {
    map.Set(key, std::move(value), {"recipe.yaml", 7, 3});
  }
  Node recipe = Node::Map();
  recipe.Set("training_hyperparams", std::move(map));
  return recipe;
}

Node At(Node value) {
  value.set_mark({"recipe.yaml", 7, 21});
  return value;
}

Node Epochs(std::vector<int64_t> numbers) {
  std::vector<Node> items;
  for (int64_t number : numbers) items.push_back(Node::Int(number));
  return Node::List(std::move(items));
}

TEST(ReadCosineSchedule, HasSuperGradientsDefault) {
  Problems problems;
  const auto cosine = ReadCosineSchedule(Node::Map(), problems);
  ASSERT_NE(cosine, nullptr) << FormatProblems(problems);
  const auto expected = CosineSchedule(0.01);
  EXPECT_EQ(cosine->Rate(0.1, At(20)), expected->Rate(0.1, At(20)));
}

TEST(ReadCosineSchedule, RefusesANegativeShare) {
  Problems problems;
  const Node recipe =
      Recipe({{"cosine_final_lr_ratio", At(Node::Float(-0.5))}});
  EXPECT_EQ(ReadCosineSchedule(recipe, problems), nullptr);
  EXPECT_EQ(FormatProblems(problems),
            "error: \"cosine_final_lr_ratio\" of training_hyperparams is "
            "-0.5\n"
            "  detail: expected a number of at least 0.0, found number -0.5\n"
            "  where:  recipe.yaml:7:21\n");
}

TEST(ReadExponentialSchedule, NeedsAFactor) {
  Problems problems;
  EXPECT_EQ(ReadExponentialSchedule(Recipe({}), problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message,
            "training_hyperparams needs a value for \"lr_decay_factor\"");
}

TEST(ReadStepSchedule, TakesEpochsOrAFrequency) {
  Problems problems;
  const Node by_epochs = Recipe(
      {{"lr_decay_factor", Node::Float(0.1)}, {"lr_updates", Epochs({1, 3})}});
  const Node by_frequency = Recipe({{"lr_decay_factor", Node::Float(0.1)},
                                    {"lr_updates", Epochs({})},
                                    {"step_lr_update_freq", Node::Int(2)}});
  const auto epochs = ReadStepSchedule(by_epochs, problems);
  const auto frequency = ReadStepSchedule(by_frequency, problems);
  ASSERT_TRUE(epochs && frequency) << FormatProblems(problems);
  EXPECT_DOUBLE_EQ(epochs->Rate(1, Epoch(1)), 0.1);
  EXPECT_DOUBLE_EQ(frequency->Rate(1, Epoch(1)), 1);
  EXPECT_DOUBLE_EQ(frequency->Rate(1, Epoch(2)), 0.1);
}

TEST(ReadStepSchedule, RefusesBothAndNeither) {
  Problems problems;
  const Node both = Recipe({{"lr_decay_factor", Node::Float(0.1)},
                            {"lr_updates", Epochs({1})},
                            {"step_lr_update_freq", At(Node::Float(1.5))}});
  const Node neither = Recipe(
      {{"lr_decay_factor", Node::Float(0.1)}, {"lr_updates", At(Epochs({}))}});
  EXPECT_EQ(ReadStepSchedule(both, problems), nullptr);
  EXPECT_EQ(ReadStepSchedule(neither, problems), nullptr);
  EXPECT_EQ(FormatProblems(problems),
            "error: both step_lr_update_freq and lr_updates say when the "
            "learning rate falls\n"
            "  where:  recipe.yaml:7:21\n"
            "  hint:   keep one of them\n"
            "error: the step schedule does not know when the learning rate "
            "falls\n"
            "  where:  recipe.yaml:7:21\n"
            "  hint:   set training_hyperparams.lr_updates to a list of "
            "epochs, or step_lr_update_freq to a number of epochs\n");
}

}  // namespace
}  // namespace slipway::optim
