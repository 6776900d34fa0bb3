// Which plugins a recipe asks for, seen through the plan.
#include "trainer/plan/select.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Selected(const std::vector<Manifest>& manifests,
                                  const recipe::Node& recipe,
                                  const Environment& here = {}) {
  return IdsOf(MustResolve(manifests, recipe, here));
}

Manifest Ema() {
  return MakeManifest("ema", R"(
config: {decay: {type: float, default: 0.9, help: h}}
recipe_keys: [{key: hyper.ema, enables: true}]
)");
}

TEST(Select, TakesNothingUnasked) {
  EXPECT_THAT(Selected({Ema()}, MakeRecipe("hyper: {}")), IsEmpty());
  EXPECT_THAT(Selected({Ema()}, MakeRecipe("{}")), IsEmpty());
}

TEST(Select, FollowsAKeyThatIsTrueOrAboveZero) {
  for (const char* on : {"true", "1", "0.5"}) {
    EXPECT_THAT(
        Selected({Ema()}, MakeRecipe("hyper: {ema: " + std::string(on) + "}")),
        ElementsAre("ema"))
        << on;
  }
  for (const char* off : {"false", "0", "-1", "null", "text", "[1]"}) {
    EXPECT_THAT(
        Selected({Ema()}, MakeRecipe("hyper: {ema: " + std::string(off) + "}")),
        IsEmpty())
        << off;
  }
}

TEST(Select, FollowsAnyOfSeveralKeys) {
  const Manifest warmup = MakeManifest("warmup", R"(
recipe_keys:
  - {key: epochs, enables: true}
  - {key: steps, enables: true}
)");
  EXPECT_THAT(Selected({warmup}, MakeRecipe("epochs: 3\nsteps: 0")),
              ElementsAre("warmup"));
  EXPECT_THAT(Selected({warmup}, MakeRecipe("epochs: 0\nsteps: 3")),
              ElementsAre("warmup"));
  EXPECT_THAT(Selected({warmup}, MakeRecipe("epochs: 0\nsteps: 0")), IsEmpty());
}

TEST(Select, AsksTheConditionOfAKeyThatHasOne) {
  const Manifest warmup = MakeManifest("warmup", R"(
recipe_keys:
  - {key: auto, enables: true, when: "auto or auto == null and auto_lr"}
)");
  Environment launched;
  launched.auto_lr = true;
  EXPECT_THAT(Selected({warmup}, MakeRecipe("{}"), launched),
              ElementsAre("warmup"));
  EXPECT_THAT(Selected({warmup}, MakeRecipe("auto: false"), launched),
              IsEmpty());
  EXPECT_THAT(Selected({warmup}, MakeRecipe("auto: true")),
              ElementsAre("warmup"));
  EXPECT_THAT(Selected({warmup}, MakeRecipe("{}")), IsEmpty());
  // The section has the last word over a mere default.
  EXPECT_THAT(
      Selected({warmup}, MakeRecipe("plugins: {warmup: false}"), launched),
      IsEmpty());
}

TEST(Select, TakesAnyEntryOfTheSectionButFalse) {
  for (const char* on : {"{}", "null", "true", "{decay: 0.5}",
                         "{version: ^1, on_error: warn, config: {decay: 1}}",
                         "{version: ^1, decay: 1}"}) {
    EXPECT_THAT(Selected({Ema()},
                         MakeRecipe("plugins: {ema: " + std::string(on) + "}")),
                ElementsAre("ema"))
        << on;
  }
  EXPECT_THAT(Selected({Ema()}, MakeRecipe("plugins: {ema: false}")),
              IsEmpty());
}

TEST(Select, LetsTheLaterOfKeyAndSectionWin) {
  const Layer key_off = {"a.yaml", "hyper: {ema: false}"};
  const Layer key_on = {"a.yaml", "hyper: {ema: true}"};
  const Layer section_on = {"b.yaml", "plugins: {ema: {}}"};
  const Layer section_off = {"b.yaml", "plugins: {ema: false}"};
  EXPECT_THAT(Selected({Ema()}, Compose({key_off, section_on})),
              ElementsAre("ema"));
  EXPECT_THAT(Selected({Ema()}, Compose({section_on, key_off})), IsEmpty());
  EXPECT_THAT(Selected({Ema()}, Compose({key_on, section_off})), IsEmpty());
  EXPECT_THAT(Selected({Ema()}, Compose({section_off, key_on})),
              ElementsAre("ema"));
}

TEST(Select, CountsTheLatestChangeWithinAnEntry) {
  const std::vector<Layer> layers = {
      {"a.yaml", "plugins: {ema: {decay: 0.5}}"},
      {"b.yaml", "hyper: {ema: false}"},
      {"command line", "plugins: {ema: {decay: 0.6}}"}};
  EXPECT_THAT(Selected({Ema()}, Compose(layers)), ElementsAre("ema"));
}

TEST(Select, RefusesKeyAndSectionThatDifferInOnePlace) {
  EXPECT_THAT(MustFail({Ema()}, MakeRecipe("hyper: {ema: false}\n"
                                           "plugins: {ema: {}}")),
              HasSubstr("recipe.yaml:2:11, recipe.yaml:1:14"));
  EXPECT_THAT(
      MustFail({Ema()}, Compose({{"command line", "hyper: {ema: true}"},
                                 {"command line", "plugins: {ema: false}"}})),
      HasSubstr("switched on and off in one place"));
}

TEST(Select, FindsAnIdWithDotsThatAnOverrideSpelledAsAPath) {
  const Manifest acme = MakeManifest(
      "com.acme.x", "config: {rate: {type: int, default: 1, help: h}}");
  const Plan plan = MustResolve(
      {acme},
      Compose({{"a.yaml", "plugins: {com.acme.x: {rate: 2}}"},
               {"command line", "plugins: {com: {acme: {x: {rate: 3}}}}"}}));
  EXPECT_THAT(IdsOf(plan), ElementsAre("com.acme.x"));
  EXPECT_EQ(plan.plugins[0].config.FindPath("rate")->AsInt(), 3);
}

TEST(Select, LoadsBySectionThenKeysThenComponents) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "components: {models: [net]}"),
      MakeManifest("b", "components: {losses: [CrossEntropyLoss]}"),
      MakeManifest("c", "recipe_keys: [{key: use_c, enables: true}]"),
      MakeManifest("d", "recipe_keys: [{key: use_d, enables: true}]"),
      MakeManifest("e"),
      MakeManifest("f"),
      MakeManifest("unused")};
  const recipe::Node recipe = MakeRecipe(R"(
use_d: true
use_c: true
training_hyperparams: {loss: cross_entropy_loss}
architecture: net
plugins: {f: {}, e: {}}
)");
  const Plan plan = MustResolve(manifests, recipe);
  EXPECT_THAT(IdsOf(plan), ElementsAre("f", "e", "c", "d", "a", "b"));
  EXPECT_EQ(plan.Find("f")->because, Because::kRecipe);
  EXPECT_EQ(plan.Find("c")->because, Because::kRecipeKey);
  EXPECT_EQ(plan.Find("c")->where, (Mark{"recipe.yaml", 3, 8}));
  EXPECT_EQ(plan.Find("a")->because, Because::kComponent);
  EXPECT_EQ(plan.Find("a")->where, (Mark{"recipe.yaml", 5, 15}));
  EXPECT_EQ(plan.Find("unused"), nullptr);

  std::vector<Manifest> shuffled = manifests;
  std::reverse(shuffled.begin(), shuffled.end());
  EXPECT_EQ(MustResolve(shuffled, recipe).hash, plan.hash);
}

TEST(Select, PrefersTheExactNameAndThePluginThatRunsAnyhow) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "components: {models: [ResNet18]}"),
      MakeManifest("b", "components: {models: [resnet18]}"),
      MakeManifest("c", "components: {models: [resnet_18]}")};
  EXPECT_THAT(Selected(manifests, MakeRecipe("architecture: resnet18")),
              ElementsAre("b"));
  EXPECT_THAT(Selected(manifests, MakeRecipe("architecture: RESNET18\n"
                                             "plugins: {c: {}}")),
              ElementsAre("c"));
  EXPECT_THAT(MustFail(manifests, MakeRecipe("architecture: RESNET18")),
              HasSubstr("several plugins have a model \"RESNET18\""));
}

TEST(Select, TakesThePolicyOfTheSection) {
  const Plan plan = MustResolve(
      {Ema(), MakeManifest("x"), MakeManifest("y")},
      MakeRecipe("plugins: {ema: {on_error: disable}, x: {on_error: warn}, "
                 "y: {}}"));
  EXPECT_EQ(plan.Find("ema")->on_error, OnError::kDisable);
  EXPECT_EQ(plan.Find("x")->on_error, OnError::kWarn);
  EXPECT_EQ(plan.Find("y")->on_error, OnError::kFail);
}

}  // namespace
}  // namespace slipway::plan
