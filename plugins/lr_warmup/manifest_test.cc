// When the manifest switches the plugin on, and what it configures.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"

namespace slipway::lr_warmup {
namespace {

struct Case {
  std::string name;
  std::string recipe;
  bool launched;  // with the launcher's --auto_lr
  int world_size;
  std::string expected;
};

std::string Describe(const recipe::Node& config) {
  const recipe::Node& initial_lr = *config.Find("initial_lr");
  return absl::StrCat(
      config.Find("mode")->AsString(), ", ", config.Find("epochs")->AsInt(),
      " epochs, ", config.Find("steps")->AsInt(), " steps",
      initial_lr.is_null() ? "" : ", from " + initial_lr.ToDisplay(),
      config.Find("auto_lr")->AsBool() ? ", auto_lr" : "");
}

// "absent", or the plugin's configuration; then the plan's problems.
std::string Planned(const Case& test) {
  plan::Environment here;
  here.auto_lr = test.launched;
  here.world_size = test.world_size;
  Problems problems;
  const auto manifest =
      plan::ReadManifest("plugins/lr_warmup/plugin.yaml", problems);
  const auto recipe = recipe::ParseYaml(test.recipe, "recipe.yaml", problems);
  if (!manifest || !recipe) return FormatProblems(problems);
  const auto plan = plan::ResolvePlan({*manifest}, *recipe, here, problems);
  if (!plan) return FormatProblems(problems);
  const plan::PlannedPlugin* found = plan->Find("lr_warmup");
  std::string text = found == nullptr ? "absent" : Describe(found->config);
  for (const Problem& problem : plan->problems) text += "; " + problem.message;
  return text;
}

class Manifest : public testing::TestWithParam<Case> {};

TEST_P(Manifest, DecidesByRecipeAndEnvironment) {
  EXPECT_EQ(Planned(GetParam()), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Manifest,
    testing::Values(
        Case{"nothing", "{}", false, 1, "absent"},
        Case{"zero_epochs", "training_hyperparams: {lr_warmup_epochs: 0}",
             false, 1, "absent"},
        Case{"epochs", "training_hyperparams: {lr_warmup_epochs: 5}", false, 1,
             "LinearEpochLRWarmup, 5 epochs, 0 steps"},
        Case{"steps",
             "training_hyperparams: {lr_warmup_steps: 9, "
             "warmup_mode: LinearBatchLRWarmup, warmup_initial_lr: 1e-6}",
             false, 1, "LinearBatchLRWarmup, 0 epochs, 9 steps, from 1e-06"},
        Case{"steps_without_their_mode",
             "training_hyperparams: {lr_warmup_steps: 9}", false, 1,
             "LinearEpochLRWarmup, 0 epochs, 9 steps; plugin \"lr_warmup\": "
             "lr_warmup_steps counts only with LinearBatchLRWarmup, so there "
             "is no warm-up"},
        Case{"launched", "{}", true, 2,
             "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"launched_with_the_defaults_of_recipes",
             "training_hyperparams: {lr_warmup_epochs: 0, lr_warmup_steps: 0, "
             "auto_lr: null}",
             true, 2, "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"launched_with_epochs",
             "training_hyperparams: {lr_warmup_epochs: 5}", true, 2,
             "LinearEpochLRWarmup, 5 epochs, 0 steps, auto_lr"},
        Case{"launched_with_a_section", "plugins: {lr_warmup: {epochs: 3}}",
             true, 2, "LinearEpochLRWarmup, 3 epochs, 0 steps, auto_lr"},
        Case{"launched_and_off_in_the_section",
             "plugins: {lr_warmup: {epochs: 3, auto_lr: false}}", true, 2,
             "LinearEpochLRWarmup, 3 epochs, 0 steps"},
        Case{"launched_and_not_wanted", "plugins: {lr_warmup: false}", true, 2,
             "absent"},
        Case{"launched_for_ddp", "multi_gpu: DDP", true, 2, "absent"},
        Case{"launched_for_ddp_on_one_gpu", "{multi_gpu: DDP, num_gpus: 1}",
             true, 2, "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"launched_with_multi_gpu_off", "{multi_gpu: Off, num_gpus: 8}",
             true, 2, "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"launched_with_multi_gpu_off_as_text",
             "{multi_gpu: 'off', num_gpus: 8}", true, 2,
             "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"launched_alone", "{}", true, 1, "absent"},
        Case{"launched_for_the_recipes_own_ranks", "num_gpus: 8", true, 2,
             "absent"},
        Case{"launched_for_one_gpu", "num_gpus: 1", true, 2,
             "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"},
        Case{"refused", "training_hyperparams: {auto_lr: False}", true, 2,
             "absent"},
        Case{"asked_for", "training_hyperparams: {auto_lr: True}", false, 2,
             "LinearEpochLRWarmup, 0 epochs, 0 steps, auto_lr"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::lr_warmup
