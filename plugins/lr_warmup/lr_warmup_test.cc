#include "plugins/lr_warmup/lr_warmup.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/training_state.h"
#include "trainer/recipe/node.h"

namespace slipway::lr_warmup {
namespace {

using recipe::Node;

constexpr Mark kHere = {"recipe.yaml", 9, 20};

Node Map(std::vector<std::pair<std::string, Node>> entries) {
  Node map = Node::Map(kHere);
  for (auto& [key, value] : entries) map.Set(key, std::move(value), kHere);
  return map;
}

// The warm-up that `config` gives in a run of `state`.
std::unique_ptr<Warmup> Configured(const Node& config, TrainingState& state) {
  auto plugin = LrWarmup::Create(config);
  EXPECT_TRUE(plugin.ok()) << plugin.status();
  if (!plugin.ok()) return nullptr;
  ConfigureContext context(state);
  EXPECT_TRUE((*plugin)->Configure(context).ok());
  return std::move(state.warmup);
}

std::unique_ptr<Warmup> Configured(const Node& config) {
  TrainingState state;
  return Configured(config, state);
}

TEST(LrWarmup, WarmsUpInEpochsByDefault) {
  const auto warmup = Configured(Map({{"epochs", Node::Int(4)}}));
  EXPECT_EQ(warmup->epochs(), 4);
  EXPECT_EQ(warmup->steps(), 0);
  EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, {}), 0.02);
}

TEST(LrWarmup, WarmsUpInStepsUnderEitherName) {
  for (const char* mode : {"LinearBatchLRWarmup", "linear_batch_step"}) {
    const auto warmup = Configured(Map({{"mode", Node::String(mode)},
                                        {"epochs", Node::Int(4)},
                                        {"steps", Node::Int(100)},
                                        {"initial_lr", Node::Float(1e-6)}}));
    EXPECT_EQ(warmup->epochs(), 0);
    EXPECT_EQ(warmup->steps(), 100);
    EXPECT_DOUBLE_EQ(*warmup->Rate("default", 0.1, {.warmup_steps = 100}),
                     1e-6);
  }
}

TEST(LrWarmup, HasNoneWhereTheModesOwnNumberIsZero) {
  const auto warmup = Configured(Map({{"steps", Node::Int(256)}}));
  EXPECT_EQ(warmup->epochs(), 0);
  EXPECT_EQ(warmup->steps(), 0);
  EXPECT_EQ(warmup->awaited_steps(), 256);
  EXPECT_FALSE(warmup->Rate("default", 0.1, {}).has_value());
}

TEST(LrWarmup, StartsEachGroupAtItsOwnRate) {
  const auto warmup =
      Configured(Map({{"epochs", Node::Int(1)},
                      {"initial_lr", Map({{"backbone", Node::Float(0.001)},
                                          {"default", Node::Int(0)}})}}));
  EXPECT_DOUBLE_EQ(*warmup->Rate("backbone", 0.1, {}), 0.001);
  EXPECT_DOUBLE_EQ(*warmup->Rate("head", 0.1, {}), 0);
}

constexpr SchedulePlace kStep500 = {
    .epoch = 5, .batches_per_epoch = 100, .max_epochs = 20};

TEST(LrWarmup, ScalesWithTheRanksIfAskedTo) {
  TrainingState state;
  state.world_size = 3;
  EXPECT_EQ(Configured(Map({}), state)->Factor(kStep500), 1);
  const Node config = Map({{"auto_lr", Node::Bool(true)}});
  // No schedule: two epochs of warm-up, which are over.
  EXPECT_EQ(Configured(config, state)->Factor(kStep500), 3);
  // Under a schedule: half of 1000 steps.
  state.recipe =
      Map({{"training_hyperparams", Map({{"lr_mode", Node::String("poly")}})}});
  EXPECT_EQ(Configured(config, state)->Factor(kStep500), 2);
  state.world_size = 1;
  EXPECT_EQ(Configured(config, state)->Factor(kStep500), 1);
}

TEST(LrWarmup, TellsAllThatIsWrong) {
  const Node config = Map({{"mode", Node::String("LinearBatchLRWarmup", kHere)},
                           {"steps", Node::Int(10, kHere)},
                           {"epochs", Node::Int(-1, kHere)},
                           {"rate", Node::Int(1, kHere)}});
  EXPECT_EQ(
      LrWarmup::Create(config).status(),
      absl::InvalidArgumentError(
          "error: \"epochs\" of plugin lr_warmup is -1\n"
          "  detail: expected an integer of at least 0, found integer "
          "-1\n"
          "  where:  recipe.yaml:9:20\n"
          "error: LinearBatchLRWarmup does not know where to start\n"
          "  where:  recipe.yaml:9:20\n"
          "  hint:   set training_hyperparams.warmup_initial_lr\n"
          "error: unknown parameter \"rate\" of plugin lr_warmup\n"
          "  where:  recipe.yaml:9:20\n"
          "  hint:   known are mode, epochs, steps, initial_lr, auto_lr\n"));
}

TEST(LrWarmup, RefusesAStartThatIsNoRate) {
  for (const Node& start :
       {Node::String("low", kHere), Node::Float(-1e-6, kHere),
        Map({{"default", Node::String("x")}})}) {
    const auto plugin = LrWarmup::Create(Map({{"initial_lr", start}}));
    EXPECT_EQ(plugin.status(),
              absl::InvalidArgumentError(
                  "error: warmup_initial_lr is " + start.ToDisplay() +
                  "\n"
                  "  where:  recipe.yaml:9:20\n"
                  "  hint:   set a number of at least 0, or a map from "
                  "parameter groups to such numbers\n"));
  }
}

}  // namespace
}  // namespace slipway::lr_warmup
