// Recipes composed from files and overrides, and the plans that follow.
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {
namespace {

using ::testing::HasSubstr;

// The recipe testdata/NAME.yaml with overrides, composed.
recipe::Node Compose(const std::string& name,
                     const std::vector<std::string>& overrides) {
  recipe::Request request;
  request.recipe = name;
  request.recipe_path = {"tests/plans/testdata"};
  request.overrides = overrides;
  Problems problems;
  const std::optional<recipe::Composed> composed =
      recipe::Compose(request, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return composed ? composed->recipe : recipe::Node::Map();
}

struct Outcome {
  std::optional<Plan> plan;
  std::string problems;
};

Outcome Resolve(const std::string& name,
                const std::vector<std::string>& overrides = {}) {
  Problems problems;
  const std::vector<Manifest> manifests =
      DiscoverManifests({"plugins"}, problems);
  Outcome outcome;
  outcome.plan = ResolvePlan(manifests, Compose(name, overrides), {}, problems);
  outcome.problems = FormatProblems(problems);
  return outcome;
}

// What a plugin's configuration is, as text; "not planned" if it is not.
std::string ConfigOf(const Outcome& outcome, const std::string& id,
                     const std::string& key) {
  EXPECT_TRUE(outcome.plan) << outcome.problems;
  const PlannedPlugin* const plugin =
      outcome.plan ? outcome.plan->Find(id) : nullptr;
  if (plugin == nullptr) return "not planned";
  return plugin->config.FindPath(key)->ToDisplay();
}

TEST(Overrides, ReachAPluginsConfiguration) {
  EXPECT_EQ(ConfigOf(Resolve("with_section"), "ema", "decay"), "0.5");
  EXPECT_EQ(ConfigOf(Resolve("with_section", {"plugins.ema.decay=0.99"}), "ema",
                     "decay"),
            "0.99");
}

TEST(Overrides, AddAndRemovePlugins) {
  EXPECT_EQ(ConfigOf(Resolve("with_section", {"~plugins.ema"}), "ema", "decay"),
            "not planned");
  EXPECT_EQ(
      ConfigOf(Resolve("with_section", {"+plugins.amp={}"}), "amp", "dtype"),
      "\"auto\"");
  const Outcome both = Resolve("with_section", {"+plugins.compile={}"});
  EXPECT_EQ(ConfigOf(both, "ema", "decay"), "0.5");
  EXPECT_EQ(ConfigOf(both, "compile", "scope"), "\"auto\"");
}

TEST(Overrides, SwitchThroughRecipeKeys) {
  const std::string key = "training_hyperparams.ema";
  EXPECT_EQ(ConfigOf(Resolve("plain"), "ema", "decay"), "not planned");
  EXPECT_EQ(ConfigOf(Resolve("plain", {key + "=True"}), "ema", "decay"),
            "0.9999");
  EXPECT_EQ(ConfigOf(Resolve("plain", {"ema=True"}), "ema", "decay"), "0.9999");
  EXPECT_EQ(ConfigOf(Resolve("with_section", {key + "=False"}), "ema", "decay"),
            "not planned");
}

TEST(Overrides, ThatContradictEachOtherAreRefused) {
  const std::string problems =
      Resolve("with_section",
              {"training_hyperparams.ema=False", "plugins.ema.decay=0.9"})
          .problems;
  EXPECT_THAT(problems, HasSubstr("switched on and off in one place"));
  EXPECT_THAT(problems, HasSubstr("command line, command line"));
}

TEST(Overrides, ReachIdsWithDotsAsPaths) {
  const std::string problems =
      Resolve("plain", {"+plugins.com.acme.x.rate=3"}).problems;
  EXPECT_THAT(problems, HasSubstr("no plugin \"com"));
}

// The section of a recipe comes after SuperGradients' defaults, which set every
// switch to False and a mode of torch_compile_options.
TEST(Recipes, LetTheirSectionWinOverTheDefaultsBeneath) {
  const Outcome outcome =
      Resolve("with_section", {"~plugins.ema", "+plugins.compile={}"});
  EXPECT_EQ(ConfigOf(outcome, "compile", "mode"), "\"reduce-overhead\"");
  EXPECT_EQ(
      ConfigOf(Resolve("with_section",
                       {"~plugins.ema", "+plugins.compile.mode=max-autotune"}),
               "compile", "mode"),
      "\"max-autotune\"");
  EXPECT_EQ(
      ConfigOf(
          Resolve("plain", {"training_hyperparams.torch_compile=True",
                            "+training_hyperparams.torch_compile_mode=default",
                            "training_hyperparams.torch_compile_options.mode="
                            "max-autotune"}),
          "compile", "mode"),
      "\"default\"");
}

TEST(Recipes, WarmUpWhereTheyHaveEpochsOrSteps) {
  EXPECT_EQ(ConfigOf(Resolve("plain"), "lr_warmup", "epochs"), "not planned");
  EXPECT_EQ(
      ConfigOf(Resolve("plain", {"training_hyperparams.lr_warmup_epochs=5"}),
               "lr_warmup", "epochs"),
      "5");
  const Outcome steps =
      Resolve("plain", {"training_hyperparams.lr_warmup_steps=100",
                        "training_hyperparams.warmup_mode=LinearBatchLRWarmup",
                        "training_hyperparams.warmup_initial_lr=1e-6"});
  EXPECT_EQ(ConfigOf(steps, "lr_warmup", "steps"), "100");
  EXPECT_EQ(ConfigOf(steps, "lr_warmup", "initial_lr"), "1e-06");
  EXPECT_TRUE(steps.plan && steps.plan->problems.empty());
}

TEST(Recipes, AreWarnedOfStepsThatDoNotCount) {
  const Outcome outcome =
      Resolve("plain", {"training_hyperparams.lr_warmup_steps=100"});
  ASSERT_TRUE(outcome.plan) << outcome.problems;
  EXPECT_THAT(FormatProblems(outcome.plan->problems),
              HasSubstr("so there is no warm-up"));
}

}  // namespace
}  // namespace slipway::plan
