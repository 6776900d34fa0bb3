#include "trainer/recipe/override.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

// The recipe after the overrides as JSON, or what is wrong with them.
std::string Applied(const std::vector<std::string>& overrides) {
  Problems problems;
  Node root = *ParseYaml(
      "seed: 1\n"
      "none:\n"
      "list: [1, {x: 2}]\n"
      "params: {lr: 0.1, optimizer: SGD}\n"
      "plugins: {ema: {}}\n",
      "x.yaml", problems);
  int number = 0;
  for (const std::string& text : overrides) {
    ++number;
    const auto change = ParseOverride(text, number, problems);
    if (change) ApplyOverride(*change, number, root, problems);
  }
  return problems.empty() ? root.ToJson().dump() : FormatProblems(problems);
}

TEST(Override, IsParsedIntoItsParts) {
  using Action = Override::Action;
  struct Case {
    const char* text;
    Action action;
    const char* path;
    const char* value;
  };
  const Case cases[] = {
      {"a.b=1e-3", Action::kChange, "a.b", "0.001"},
      {"+a={}", Action::kAdd, "a", "{}"},
      {"++a=[x, 1]", Action::kSet, "a", "[\"x\", 1]"},
      {"~a=null", Action::kRemove, "a", "null"},
      {"a=", Action::kChange, "a", "null"},
      {"a=b=c", Action::kChange, "a", "\"b=c\""},
      {"a=x y # z", Action::kChange, "a", "\"x y # z\""},
      {"a=${b.c}", Action::kChange, "a", "\"${b.c}\""},
      {"group/sub=x", Action::kChange, "group/sub", "\"x\""},
  };
  for (const Case& c : cases) {
    Problems problems;
    const auto change = ParseOverride(c.text, 3, problems);
    ASSERT_TRUE(change) << c.text;
    EXPECT_EQ(change->action, c.action) << c.text;
    EXPECT_EQ(change->path, c.path);
    EXPECT_EQ(change->value->ToDisplay(), c.value);
    EXPECT_EQ(change->mark, (Mark{"command line", 0, 3}));
  }
  Problems problems;
  EXPECT_FALSE(ParseOverride("~a.b", 1, problems)->value);
}

TEST(Override, IsRefusedWhenItIsNone) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case cases[] = {
      {"seed",
       "error: no value in \"seed\"\n"
       "  where:  command line\n"
       "  hint:   write seed=VALUE\n"},
      {"=1",
       "error: no key to override in \"=1\"\n"
       "  where:  command line\n"
       "  hint:   an override is key=value, +key=value or ~key\n"},
      {"a..b=1",
       "error: no key to override in \"a..b=1\"\n"
       "  where:  command line\n"
       "  hint:   an override is key=value, +key=value or ~key\n"},
      {"group@x=1",
       "error: no key to override in \"group@x=1\"\n"
       "  where:  command line\n"
       "  hint:   an override is key=value, +key=value or ~key\n"},
      {"a={b:1}",
       "error: a colon without a space in \"a={b:1}\"\n"
       "  where:  command line\n"
       "  hint:   write {key: value}\n"},
      {"a=[1",
       "error: cannot read the value \"[1\"\n"
       "  detail: end of sequence flow not found, at \"[1\"\n"
       "  where:  command line\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Applied({c.text}), c.problem);
}

TEST(Override, ChangesAddsSetsAndRemoves) {
  struct Case {
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"seed=2",
       R"({"seed":2,"none":null,"list":[1,{"x":2}],)"
       R"("params":{"lr":0.1,"optimizer":"SGD"},"plugins":{"ema":{}}})"},
      {"~params",
       R"({"seed":1,"none":null,"list":[1,{"x":2}],"plugins":{"ema":{}}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(Applied({c.text}), c.json);
}

// What the override does to the one part it is about.
std::string Part(const std::string& override, const std::string& path) {
  Problems problems;
  const auto root =
      nlohmann::ordered_json::parse(Applied({override}), nullptr, false);
  if (root.is_discarded()) return Applied({override});
  const nlohmann::ordered_json::json_pointer pointer(path);
  return root.contains(pointer) ? root[pointer].dump() : "absent";
}

TEST(Override, ReachesIntoMapsAndLists) {
  EXPECT_EQ(Part("params.lr=0.2", "/params/lr"), "0.2");
  EXPECT_EQ(Part("list.0=x", "/list"), R"(["x",{"x":2}])");
  EXPECT_EQ(Part("list.1.x=3", "/list/1/x"), "3");
  EXPECT_EQ(Part("+list.2=new", "/list"), R"([1,{"x":2},"new"])");
  EXPECT_EQ(Part("~list.0", "/list"), R"([{"x":2}])");
  EXPECT_EQ(Part("~params.lr", "/params"), R"({"optimizer":"SGD"})");
  EXPECT_EQ(Part("~params.lr=0.1", "/params"), R"({"optimizer":"SGD"})");
}

TEST(Override, MergesAMapIntoAMap) {
  EXPECT_EQ(Part("params={lr: 1}", "/params"), R"({"lr":1,"optimizer":"SGD"})");
  EXPECT_EQ(Part("params=[1]", "/params"), "[1]");
}

TEST(Override, CreatesWhatAnAdditionNeeds) {
  EXPECT_EQ(Part("+a.b.c=1", "/a"), R"({"b":{"c":1}})");
  EXPECT_EQ(Part("++none.b=1", "/none"), R"({"b":1})");
  EXPECT_EQ(Part("++seed=5", "/seed"), "5");
  EXPECT_EQ(Part("+plugins.compile={}", "/plugins"),
            R"({"ema":{},"compile":{}})");
}

TEST(Override, SetsWhatTheRecipeLacksIfTheKeyIsNoSlip) {
  EXPECT_EQ(Part("plugins.ema.decay=0.9", "/plugins/ema"), R"({"decay":0.9})");
  EXPECT_EQ(Part("plugins.swa.start=1", "/plugins/swa"), R"({"start":1})");
  EXPECT_EQ(Part("device=cpu", "/device"), "\"cpu\"");
  EXPECT_EQ(Part("training_hyperparams.log_every=1", "/training_hyperparams"),
            R"({"log_every":1})");
  EXPECT_EQ(Part("lr=0.5", "/lr"), "0.5");
}

TEST(Override, NamesWhatIsNear) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case cases[] = {
      {"sede=2",
       "error: no key \"sede\" in the recipe\n"
       "  detail: the override is sede=2\n"
       "  where:  command line\n"
       "  hint:   did you mean \"seed\"?\n"},
      {"params.momentum=0.9",
       "error: no key \"momentum\" in \"params\"\n"
       "  detail: the override is params.momentum=0.9\n"
       "  where:  command line\n"
       "  hint:   to add it, write "
       "+params.momentum=0.9\n"},
      {"devise=cpu",
       "error: no key \"devise\" in the recipe\n"
       "  detail: the override is devise=cpu\n"
       "  where:  command line\n"
       "  hint:   did you mean \"device\"?\n"},
      {"parms.lr=1",
       "error: no key \"parms\" in the recipe\n"
       "  detail: the override is parms.lr=1\n"
       "  where:  command line\n"
       "  hint:   did you mean \"params\"?\n"},
      {"+seed=2",
       "error: \"seed\" is there already: 1\n"
       "  detail: the override is +seed=2\n"
       "  where:  command line, x.yaml:1:7\n"
       "  hint:   without the + it is changed: seed=2\n"},
      {"~whatever",
       "error: no key \"whatever\" in the recipe\n"
       "  detail: the override is ~whatever\n"
       "  where:  command line\n"
       "  hint:   known are seed, none, list, params, plugins\n"},
      {"~seed=2",
       "error: \"seed\" is 1, not 2\n"
       "  detail: the override is ~seed=2\n"
       "  where:  command line\n"
       "  hint:   ~seed removes it as it is\n"},
      {"seed.x=2",
       "error: \"seed\" is 1 and has no key \"x\"\n"
       "  detail: the override is seed.x=2\n"
       "  where:  command line\n"
       "  hint:   ~seed and then +seed.x=2 makes it a map\n"},
      {"~seed.x",
       "error: \"seed\" is 1 and has no key \"x\"\n"
       "  detail: the override is ~seed.x\n"
       "  where:  command line\n"},
      {"list.5=1",
       "error: no key \"5\" in \"list\"\n"
       "  detail: the override is list.5=1\n"
       "  where:  command line\n"
       "  hint:   to add it, write +list.5=1\n"},
      {"+list.7=1",
       "error: no key \"7\" in \"list\"\n"
       "  detail: the override is +list.7=1\n"
       "  where:  command line\n"
       "  hint:   the next position is 2\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Applied({c.text}), c.problem);
}

TEST(Override, GivesItsPlaceAndOrder) {
  Problems problems;
  Node root = *ParseYaml("a: {b: 1}", "x.yaml", problems);
  const auto change = ParseOverride("a={c: [2]}", 4, problems);
  ApplyOverride(*change, 9, root, problems);
  EXPECT_EQ(root.FindPath("a")->order(), 9);
  EXPECT_EQ(root.FindPath("a.b")->order(), 0);
  EXPECT_EQ(root.FindPath("a.c.0")->order(), 9);
  EXPECT_EQ(root.FindPath("a.c.0")->mark(), (Mark{"command line", 0, 4}));
  EXPECT_EQ(ToString(root.FindPath("a.b")->mark()), "x.yaml:1:8");
}

}  // namespace
}  // namespace slipway::recipe
