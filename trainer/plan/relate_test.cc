// Requirements, conflicts, claims and warnings, seen through the plan.
#include "trainer/plan/relate.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"
#include "trainer/plan/require.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Environment Ranks(int world_size) {
  Environment here;
  here.world_size = world_size;
  return here;
}

std::string Said(const Plan& plan) { return FormatProblems(plan.problems); }

TEST(Require, AddsWhatIsNeededAndWhatThatNeeds) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "requires: [{with: b}]"),
      MakeManifest("b", "requires: [{with: casts, version: ^2}]"),
      MakeManifest("c", "provides: [casts]\nversion: 2.1.0")};
  const Plan plan = MustResolve(
      manifests, MakeRecipe("plugins: {a: {}, auto_require: true}"));
  EXPECT_THAT(IdsOf(plan), ElementsAre("a", "b", "c"));
  EXPECT_EQ(plan.Find("c")->because, Because::kRequires);
  EXPECT_EQ(plan.Find("c")->where, (Mark{"plugins/b/plugin.yaml", 9, 12}));
  EXPECT_EQ(Said(plan),
            R"(note: plugin "a" requires b, which was added to the plan
  where:  recipe.yaml:1:11, plugins/a/plugin.yaml:9:12
note: plugin "b" requires casts ^2, which was added to the plan
  where:  plugins/a/plugin.yaml:9:12, plugins/b/plugin.yaml:9:12
)");
}

TEST(Require, IsMetByAnyPluginThatWillDo) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "requires: [{with: casts, version: ^2}]"),
      MakeManifest("old", "provides: [casts]"),
      MakeManifest("new", "provides: [casts]\nversion: 2.0.0")};
  const Plan plan =
      MustResolve(manifests, MakeRecipe("plugins: {a: {}, old: {}, new: {}}"));
  EXPECT_EQ(Said(plan), "");
}

TEST(Require, AsksOnlyWhileItsConditionHolds) {
  const Manifest a = MakeManifest(
      "a", "requires: [{with: sync, when: world_size > 1, reason: r}]");
  EXPECT_THAT(IdsOf(MustResolve({a}, MakeRecipe("plugins: {a: {}}"), Ranks(1))),
              ElementsAre("a"));
  EXPECT_THAT(MustFail({a}, MakeRecipe("plugins: {a: {}}"), Ranks(2)),
              HasSubstr("plugin \"a\" requires sync"));
}

TEST(Platforms, NeedOneOfEachSortThatIsNamed) {
  Environment here;
  here.device = "cuda";
  here.os = "linux";
  here.arch = "aarch64";
  const recipe::Node recipe = MakeRecipe("plugins: {a: {}}");
  for (const char* fits :
       {"[]", "[cuda]", "[cpu, cuda]", "[linux]", "[cuda, x86_64, aarch64]"}) {
    MustResolve({MakeManifest("a", "platforms: " + std::string(fits))}, recipe,
                here);
  }
  for (const char* not_here : {"[cpu]", "[x86_64]", "[cuda, x86_64]"}) {
    EXPECT_THAT(
        MustFail({MakeManifest("a", "platforms: " + std::string(not_here))},
                 recipe, here),
        HasSubstr("plugin \"a\" cannot run here"));
  }
}

TEST(Conflicts, AreFoundWhicheverSideDeclaresThem) {
  const Manifest plain_a = MakeManifest("a"), plain_b = MakeManifest("b");
  const Manifest a = MakeManifest("a", "conflicts: [{with: b, reason: r}]");
  const Manifest b = MakeManifest("b", "conflicts: [{with: a, reason: r}]");
  const recipe::Node both = MakeRecipe("plugins: {a: {}, b: {}}");
  MustResolve({plain_a, plain_b}, both);
  EXPECT_THAT(MustFail({a, plain_b}, both), HasSubstr("cannot be used"));
  EXPECT_THAT(MustFail({plain_a, b}, both), HasSubstr("cannot be used"));
  MustResolve({a, b}, MakeRecipe("plugins: {b: {}}"));
}

TEST(Conflicts, CountOnlyForTheVersionsAndConditionsNamed) {
  const Manifest a =
      MakeManifest("a",
                   "conflicts: [{with: b, version: <2, when: world_size > 1, "
                   "reason: r}]");
  const Manifest b1 = MakeManifest("b"),
                 b2 = MakeManifest("b", "version: 2.0.0");
  const recipe::Node both = MakeRecipe("plugins: {a: {}, b: {}}");
  MustFail({a, b1}, both, Ranks(2));
  MustResolve({a, b1}, both, Ranks(1));
  MustResolve({a, b2}, both, Ranks(2));
}

TEST(Conflicts, ReachWhoeverProvidesAThingButNotTheirDeclarer) {
  const Manifest a = MakeManifest(
      "a", "provides: [average]\nconflicts: [{with: average, reason: r}]");
  const Manifest b = MakeManifest("b", "provides: [average]");
  MustResolve({a, b}, MakeRecipe("plugins: {a: {}}"));
  EXPECT_THAT(MustFail({a, b}, MakeRecipe("plugins: {a: {}, b: {}}")),
              HasSubstr("plugins \"a\" and \"b\" cannot be used together"));
}

TEST(Conflicts, AskTheConfigurationOfOthers) {
  const Manifest a = MakeManifest(
      "a",
      "conflicts: [{when: b.scope == step and hyper.clip > 0, reason: r}]");
  const Manifest b = MakeManifest(
      "b", "config: {scope: {type: string, default: step, help: h}}");
  const std::string hyper = "hyper: {clip: 1}\n";
  MustFail({a, b}, MakeRecipe(hyper + "plugins: {a: {}, b: {}}"));
  MustResolve({a, b}, MakeRecipe(hyper + "plugins: {a: {}}"));
  MustResolve({a, b}, MakeRecipe("plugins: {a: {}, b: {}}"));
  MustResolve({a, b}, MakeRecipe(hyper + "plugins: {a: {}, b: {scope: all}}"));
}

TEST(Conflicts, AskWhetherOthersAreThere) {
  const Manifest a =
      MakeManifest("a", "conflicts: [{when: b and not c, reason: r}]");
  const std::vector<Manifest> all = {a, MakeManifest("b"), MakeManifest("c")};
  MustResolve(all, MakeRecipe("plugins: {a: {}}"));
  MustFail(all, MakeRecipe("plugins: {a: {}, b: {}}"));
  MustResolve(all, MakeRecipe("plugins: {a: {}, b: {}, c: {}}"));
}

TEST(Conflicts, SeeAllOfTheEnvironment) {
  Environment here;
  here.world_size = 2;
  here.device = "cuda";
  here.cpu_isa = "avx2";
  here.cpu_bf16 = true;
  here.libtorch_version = "2.15.0+cpu";
  here.os = "linux";
  here.arch = "x86_64";
  here.auto_lr = true;
  const Manifest a = MakeManifest("a", R"(
conflicts:
  - when: >-
      world_size == 2 and device == cuda and cpu_isa == avx2 and cpu_bf16 and
      libtorch_version >= 2.15 and os == linux and arch == x86_64 and auto_lr
    reason: r
)");
  MustFail({a}, MakeRecipe("plugins: {a: {}}"), here);
  MustResolve({a}, MakeRecipe("plugins: {a: {}}"));
}

TEST(Allow, TurnsOneConflictIntoAWarningAndTaintsTheRun) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "conflicts: [{with: b, reason: r}]"),
      MakeManifest("b")};
  for (const char* allow : {"[\"a+b: I know\"]", "[\"b+a: I know\"]",
                            "[{a+b: I know}]", "\"a+b: I know\""}) {
    const Plan plan =
        MustResolve(manifests, MakeRecipe("plugins: {a: {}, b: {}, allow: " +
                                          std::string(allow) + "}"));
    ASSERT_EQ(plan.tainted.size(), 1u) << allow;
    EXPECT_THAT(plan.tainted[0], HasSubstr(": I know"));
    EXPECT_THAT(Said(plan),
                HasSubstr("warning: plugins \"a\" and \"b\" cannot"));
    EXPECT_THAT(Said(plan), HasSubstr("this run is tainted"));
  }
}

TEST(Allow, HelpsOnlyThePairItNames) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a",
                   "conflicts: [{with: b, reason: r}, {with: c, "
                   "reason: r}]"),
      MakeManifest("b"), MakeManifest("c")};
  const std::string said =
      MustFail(manifests, MakeRecipe("plugins: {a: {}, b: {}, c: {}, "
                                     "allow: [\"a+b: why\"]}"));
  EXPECT_THAT(said, HasSubstr("error: plugins \"a\" and \"c\""));
  EXPECT_THAT(said, HasSubstr("warning: plugins \"a\" and \"b\""));
}

TEST(Allow, IsWarnedOfWhereNothingNeedsIt) {
  const Plan plan =
      MustResolve({MakeManifest("a"), MakeManifest("b")},
                  MakeRecipe("plugins: {a: {}, b: {}, allow: [\"a+b: why\"]}"));
  EXPECT_THAT(Said(plan), HasSubstr("warning: plugins.allow permits \"a+b\""));
  EXPECT_THAT(plan.tainted, IsEmpty());
}

TEST(Claims, AreListedWithTheirHolders) {
  const Plan plan = MustResolve(
      {MakeManifest("a",
                    "claims: [loss, {slot: lr_scale, when: world_size > 9}"
                    "]"),
       MakeManifest("b",
                    "claims: [{slot: lr_scale, when: world_size == 1}, "
                    "{slot: lr_scale, when: device == cpu}]")},
      MakeRecipe("plugins: {a: {}, b: {}}"));
  EXPECT_THAT(plan.claims,
              ElementsAre(Pair("loss", "a"), Pair("lr_scale", "b")));
}

TEST(Warnings, ApplyWithAnotherPluginOrACondition) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a",
                   "warns: [{with: b, reason: slow, advice: drop b}, "
                   "{when: world_size == 1, reason: useless}]"),
      MakeManifest("b")};
  const Plan both =
      MustResolve(manifests, MakeRecipe("plugins: {a: {}, b: {}}"), Ranks(2));
  EXPECT_EQ(Said(both), R"(warning: plugin "a" with "b": slow
  where:  recipe.yaml:1:11, recipe.yaml:1:18, plugins/a/plugin.yaml:9:9
  hint:   drop b
)");
  const Plan alone = MustResolve(manifests, MakeRecipe("plugins: {a: {}}"));
  EXPECT_EQ(Said(alone), R"(warning: plugin "a": useless
  detail: this is so while world_size == 1
  where:  recipe.yaml:1:11, plugins/a/plugin.yaml:9:50
)");
}

TEST(Recommendations, AreNotedWhereTheyAreNotFollowed) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a",
                   "recommends: [{with: b, version: ^2, when: device == "
                   "cpu, reason: faster, advice: add b}]"),
      MakeManifest("b")};
  const char kNote[] = R"(note: plugin "a" recommends "b": faster
  where:  recipe.yaml:1:11, plugins/a/plugin.yaml:9:14
  hint:   add b
)";
  EXPECT_EQ(Said(MustResolve(manifests, MakeRecipe("plugins: {a: {}}"))),
            kNote);
  // b is there, but too old.
  EXPECT_EQ(Said(MustResolve(manifests, MakeRecipe("plugins: {a: {}, b: {}}"))),
            kNote);
  const std::vector<Manifest> newer = {manifests[0],
                                       MakeManifest("b", "version: 2.0.0")};
  EXPECT_EQ(Said(MustResolve(newer, MakeRecipe("plugins: {a: {}, b: {}}"))),
            "");
  Environment cuda;
  cuda.device = "cuda";
  EXPECT_EQ(Said(MustResolve(manifests, MakeRecipe("plugins: {a: {}}"), cuda)),
            "");
}

TEST(Status, IsNotedForPlannedAndWarnedOfForDeprecatedPlugins) {
  const Plan plan =
      MustResolve({MakeManifest("new", "status: planned"),
                   MakeManifest("old", "status: deprecated"),
                   MakeManifest("try", "status: alpha")},
                  MakeRecipe("plugins: {new: {}, old: {}, try: {}}"));
  ASSERT_EQ(plan.problems.size(), 2u);
  EXPECT_EQ(plan.problems[0].severity, Severity::kNote);
  EXPECT_EQ(plan.problems[1].severity, Severity::kWarning);
  EXPECT_EQ(plan.Find("new")->status, Status::kPlanned);
}

}  // namespace
}  // namespace slipway::plan
