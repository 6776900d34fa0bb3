#include "trainer/plan/plan.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/golden/golden.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::HasSubstr;

std::vector<Manifest> Plugins() {
  return {MakeManifest("ema", R"(
version: 1.2.0
hooks: [AfterOptimizer, EvalBegin, EvalEnd, Close]
config:
  decay: {type: float, default: 0.9999, help: h}
  kind: {type: string, default: exp, help: h}
  note: {type: string, help: h}
recipe_keys: [{key: training_hyperparams.ema, enables: true}]
claims: [eval_weights]
effects: {memory: +1x parameters, numerics: evaluation by the average}
)"),
          MakeManifest("nets", "components: {models: [net]}\nhooks: []"),
          MakeManifest("com.acme.reporter", R"(
status: alpha
hooks: [EpochEnd, Close]
conflicts: [{with: ema, reason: it reads raw weights}]
)")};
}

recipe::Node Recipe() {
  return MakeRecipe(R"(
architecture: net
training_hyperparams: {ema: True}
plugins:
  com.acme.reporter: {on_error: disable}
  allow: ["ema+com.acme.reporter: it is told so"]
)");
}

// Libraries lie wherever the test runs.
std::string WithoutFolder(const std::string& text, const Plan& plan) {
  const std::string library = plan.Find("ema")->library;
  const std::string root =
      library.substr(0, library.find("plugins/ema/libema.so"));
  return absl::StrReplaceAll(text, {{root, "ROOT/"}});
}

TEST(Plan, IsReadByPeople) {
  ExpectGolden("trainer/plan/testdata/plan.golden",
               FormatPlan(MustResolve(Plugins(), Recipe())));
}

TEST(Plan, IsReadByPeopleWhereThereIsNothing) {
  const Plan plan = MustResolve({}, MakeRecipe("{}"));
  EXPECT_EQ(FormatPlan(plan),
            "plan " + plan.hash.substr(0, 12) + "\n  no plugins\n");
}

TEST(Plan, TellsWhatRunsByDefault) {
  const Manifest warmup = MakeManifest("warmup", R"(
recipe_keys:
  - {key: auto, enables: true, when: "auto or auto == null and auto_lr"}
)");
  Environment launched;
  launched.auto_lr = true;
  EXPECT_THAT(FormatPlan(MustResolve({warmup}, MakeRecipe("{}"), launched)),
              HasSubstr("a recipe key's default\n"));
  EXPECT_THAT(
      FormatPlan(MustResolve({warmup}, MakeRecipe("auto: true"), launched)),
      HasSubstr("a recipe key at recipe.yaml:1:7\n"));
}

TEST(Plan, IsWrittenAsJson) {
  const Plan plan = MustResolve(Plugins(), Recipe());
  ExpectGolden("trainer/plan/testdata/plan.json.golden",
               WithoutFolder(ToJson(plan).dump(2), plan) + "\n");
}

TEST(Plan, FindsItsPlugins) {
  const Plan plan = MustResolve(Plugins(), Recipe());
  ASSERT_NE(plan.Find("ema"), nullptr);
  EXPECT_EQ(plan.Find("ema")->id, "ema");
  EXPECT_EQ(plan.Find("emma"), nullptr);
}

std::string HashOf(const std::vector<Manifest>& manifests,
                   const std::string& recipe) {
  return MustResolve(manifests, MakeRecipe(recipe)).hash;
}

TEST(Hash, IsThatOfIdsVersionsConfigurationsAndOrder) {
  const std::string base = HashOf(Plugins(), "plugins: {ema: {}, nets: {}}");
  EXPECT_EQ(base.size(), 64u);
  EXPECT_NE(base, HashOf(Plugins(), "plugins: {ema: {}}"));
  EXPECT_NE(base, HashOf(Plugins(), "plugins: {nets: {}, ema: {}}"));
  EXPECT_NE(base, HashOf(Plugins(), "plugins: {ema: {decay: 0.5}, nets: {}}"));
  std::vector<Manifest> newer = Plugins();
  newer[0].version.patch = 1;
  EXPECT_NE(base, HashOf(newer, "plugins: {ema: {}, nets: {}}"));
  std::vector<Manifest> hooked = Plugins();
  hooked[0].hooks.push_back("FitEnd");
  EXPECT_NE(base, HashOf(hooked, "plugins: {ema: {}, nets: {}}"));
}

TEST(Hash, DoesNotDependOnWhereAndHowThingsAreSaid) {
  const std::string base = HashOf(Plugins(), "plugins: {ema: {decay: 1}}");
  EXPECT_EQ(base, HashOf(Plugins(), "\n\nplugins:\n  ema: {decay: 1.0}"));
  EXPECT_EQ(base, HashOf(Plugins(), "plugins: {ema: {config: {decay: 1}}}"));
  EXPECT_EQ(base,
            HashOf(Plugins(), "plugins: {ema: {decay: 1, on_error: warn}}"));
  EXPECT_EQ(base, HashOf(Plugins(),
                         "training_hyperparams: {ema: true}\n"
                         "plugins: {ema: {decay: 1}}"));
  std::vector<Manifest> moved = Plugins();
  for (Manifest& manifest : moved) manifest.path = "/opt/" + manifest.path;
  EXPECT_EQ(base, HashOf(moved, "plugins: {ema: {decay: 1}}"));
}

TEST(Hash, TakesAnyText) {
  const std::string a =
      HashOf(Plugins(), "plugins: {ema: {kind: \"\\u00fc\"}}");
  const std::string b = HashOf(Plugins(), "plugins: {ema: {kind: \"\\xff\"}}");
  EXPECT_NE(a, b);
}

TEST(ResolvePlan, AppendsToProblemsOnlyWhenItFails) {
  Problems problems = {{.kind = "recipe", .message = "older"}};
  EXPECT_FALSE(ResolvePlan({}, MakeRecipe("plugins: {ema: {}}"), {}, problems));
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].message, "older");
  Problems none;
  const std::optional<Plan> plan = ResolvePlan(
      Plugins(), MakeRecipe("plugins: {allow: [\"a+b: c\"]}"), {}, none);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(plan->problems.size(), 1u);
}

}  // namespace
}  // namespace slipway::plan
