// Which configuration a plugin gets, seen through the plan.
#include "trainer/plan/configure.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A plugin like compile, whose mode has a weak key among those of a map.
Manifest Tool() {
  return MakeManifest("tool", R"(
config:
  mode: {type: string, default: plain, help: h}
  rate: {type: float, default: 1, max: 10, help: h}
  note: {type: string, help: h}
recipe_keys:
  - {key: tool, enables: true}
  - {key: tool_mode, config: mode}
  - {key: options.mode, config: mode, weak: true}
  - {key: options.*}
)");
}

std::string ModeOf(const std::vector<Layer>& layers) {
  const Plan plan = MustResolve({Tool()}, Compose(layers));
  const PlannedPlugin* const tool = plan.Find("tool");
  return tool == nullptr ? "none" : tool->config.Find("mode")->AsString();
}

TEST(Configure, FillsInDefaultsOfTheirTypes) {
  const Plan plan = MustResolve({Tool()}, MakeRecipe("tool: true"));
  const Node& config = plan.plugins[0].config;
  EXPECT_THAT(config.keys(), ElementsAre("mode", "rate", "note"));
  EXPECT_EQ(*config.Find("mode"), Node::String("plain"));
  EXPECT_EQ(*config.Find("rate"), Node::Float(1));
  EXPECT_TRUE(config.Find("note")->is_null());
}

TEST(Configure, TakesEveryFormOfASection) {
  for (const char* entry :
       {"{rate: 3}", "{config: {rate: 3}}", "{version: ^1, rate: 3}",
        "{on_error: warn, config: {rate: 3}, mode: fast}"}) {
    const Plan plan = MustResolve(
        {Tool()}, MakeRecipe("plugins: {tool: " + std::string(entry) + "}"));
    EXPECT_EQ(*plan.plugins[0].config.Find("rate"), Node::Float(3)) << entry;
  }
}

TEST(Configure, LetsTheLaterOfKeyAndSectionWin) {
  const Layer key = {"a.yaml", "tool: true\ntool_mode: key"};
  const Layer section = {"b.yaml", "plugins: {tool: {mode: section}}"};
  EXPECT_EQ(ModeOf({key, section}), "section");
  EXPECT_EQ(ModeOf({section, key}), "key");
}

TEST(Configure, LetsAWeakKeyLoseWhateverTheOrder) {
  const Layer on = {"a.yaml", "tool: true"};
  const Layer weak = {"b.yaml", "options: {mode: weak}"};
  EXPECT_EQ(ModeOf({on, weak}), "weak");
  EXPECT_EQ(ModeOf({on, {"c.yaml", "tool_mode: key"}, weak}), "key");
  EXPECT_EQ(ModeOf({{"c.yaml", "plugins: {tool: {mode: section}}"}, weak}),
            "section");
}

TEST(Configure, TakesNullForNoValue) {
  EXPECT_EQ(ModeOf({{"a.yaml", "tool: true\ntool_mode: key"},
                    {"b.yaml", "plugins: {tool: {mode: null}}"}}),
            "key");
  EXPECT_EQ(ModeOf({{"a.yaml", "tool: true\ntool_mode: null"}}), "plain");
}

TEST(Configure, TakesTheKeysOfAMap) {
  const Plan plan = MustResolve(
      {Tool()}, MakeRecipe("tool: true\noptions: {rate: 2, note: here}"));
  EXPECT_EQ(*plan.plugins[0].config.Find("rate"), Node::Float(2));
  EXPECT_EQ(*plan.plugins[0].config.Find("note"), Node::String("here"));
}

TEST(Configure, RefusesTwoThatDifferInOnePlace) {
  EXPECT_THAT(
      MustFail({Tool()}, MakeRecipe("tool: true\ntool_mode: key\n"
                                    "plugins: {tool: {mode: section}}")),
      HasSubstr("recipe.yaml:2:12, recipe.yaml:3:18"));
  EXPECT_THAT(
      MustFail({Tool()},
               Compose({{"a.yaml", "tool: true"},
                        {"command line", "options: {rate: 2}"},
                        {"command line", "plugins: {tool: {rate: 3}}"}})),
      HasSubstr("plugins.tool.rate is 3, options.rate is 2"));
  EXPECT_THAT(MustFail({Tool()}, MakeRecipe("plugins: {tool: {rate: 2, "
                                            "config: {rate: 3}}}")),
              HasSubstr("\"rate\" of plugin \"tool\" is set twice"));
}

TEST(Configure, AcceptsTwoThatAgree) {
  EXPECT_EQ(ModeOf({{"a.yaml",
                     "tool: true\ntool_mode: x\n"
                     "plugins: {tool: {mode: x}}"}}),
            "x");
  const Plan plan =
      MustResolve({Tool()}, MakeRecipe("tool: true\noptions: {rate: 2.0}\n"
                                       "plugins: {tool: {rate: 2}}"));
  EXPECT_EQ(*plan.plugins[0].config.Find("rate"), Node::Float(2));
}

TEST(Configure, ForgetsADisagreementThatALaterFileSettles) {
  EXPECT_EQ(ModeOf({{"a.yaml",
                     "tool: true\ntool_mode: key\n"
                     "plugins: {tool: {mode: section}}"},
                    {"b.yaml", "tool_mode: last"}}),
            "last");
}

TEST(Configure, CountsAKeyThatItsConditionSwitchesOnAsTrue) {
  const Manifest warmup = MakeManifest("warmup", R"(
config: {scale: {type: bool, default: false, help: h}}
recipe_keys:
  - {key: scale, enables: true, config: scale, when: scale or auto_lr}
)");
  Environment launched;
  launched.auto_lr = true;
  const Plan by_default = MustResolve({warmup}, MakeRecipe("{}"), launched);
  EXPECT_TRUE(by_default.plugins.at(0).config.Find("scale")->AsBool());
  const Plan told = MustResolve(
      {warmup}, MakeRecipe("plugins: {warmup: {scale: false}}"), launched);
  EXPECT_FALSE(told.plugins.at(0).config.Find("scale")->AsBool());
}

TEST(Configure, LeavesAPluginAloneThatIsNotPlanned) {
  EXPECT_EQ(ModeOf({{"a.yaml", "options: {rate: fast, decoy: 1}"}}), "none");
}

}  // namespace
}  // namespace slipway::plan
