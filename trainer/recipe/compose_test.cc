#include "trainer/recipe/compose.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/test_folder.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;

// A folder of recipes to compose from.
class Compositions : public testing::Test {
 protected:
  Compositions() : folder_("compose_test") {}

  Request For(std::string recipe, std::vector<std::string> overrides = {}) {
    Request request;
    request.recipe = std::move(recipe);
    request.recipe_path = {folder_.path()};
    request.overrides = std::move(overrides);
    return request;
  }

  // The composed recipe as JSON, or what is wrong, without the folder's path.
  std::string Composed(std::string recipe,
                       std::vector<std::string> overrides = {}) {
    Problems problems;
    const auto composed =
        Compose(For(std::move(recipe), std::move(overrides)), problems);
    EXPECT_EQ(composed.has_value(), !HasErrors(problems));
    return composed ? composed->recipe.ToJson().dump()
                    : folder_.WithoutPath(FormatProblems(problems));
  }

  TestFolder folder_;
};

TEST_F(Compositions, PutsAGroupsChoiceUnderItsKey) {
  folder_.Write("main.yaml",
                "defaults:\n"
                "  - params: big\n"
                "  - data: [a, b]\n"
                "  - _self_\n"
                "params: {lr: 1}\n");
  folder_.Write("params/big.yaml", "lr: 0.1\nsize: 10\n");
  folder_.Write("data/a.yaml", "root: x\n");
  folder_.Write("data/b.yaml", "root: y\nn: 1\n");
  EXPECT_EQ(Composed("main"),
            R"({"params":{"lr":1,"size":10},"data":{"root":"y","n":1}})");
}

TEST_F(Compositions, FindsGroupsWithinGroupsAndFromTheTop) {
  folder_.Write("main.yaml",
                "defaults:\n"
                "  - net/head: big\n"
                "  - net: deep.yaml\n"
                "  - _self_\n");
  folder_.Write("net/deep.yaml",
                "defaults:\n"
                "  - stem: wide\n"   // net/stem/wide
                "  - shallow\n"      // net/shallow
                "  - /loss: soft\n"  // from the top
                "  - _self_\n"
                "depth: 50\n");
  folder_.Write("net/shallow.yaml", "depth: 1\nwidth: 2\n");
  folder_.Write("net/head/big.yaml", "classes: 10\n");
  folder_.Write("net/stem/wide.yaml", "kernel: 7\n");
  folder_.Write("loss/soft.yaml", "smooth: 0.1\n");
  EXPECT_EQ(Composed("main"),
            R"({"net":{"head":{"classes":10},"stem":{"kernel":7},"depth":50,)"
            R"("width":2,"loss":{"smooth":0.1}}})");
  // A file's place is that of its own group, and not that of its name.
  folder_.Write("other.yaml", "defaults: [loss: far]\n");
  folder_.Write("loss/far.yaml", "defaults: [/net/shallow]\n");
  folder_.Write("plain.yaml", "defaults: [net/shallow, _self_]\na: 1\n");
  EXPECT_EQ(Composed("other"), R"({"loss":{"net":{"depth":1,"width":2}}})");
  EXPECT_EQ(Composed("plain"), R"({"net":{"depth":1,"width":2},"a":1})");
  EXPECT_EQ(Composed("main", {"net/head=none"}),
            "error: no net/head \"none\"\n"
            "  detail: searched for net/head/none.yaml in FOLDER\n"
            "  where:  command line\n"
            "  hint:   known are big\n");
}

TEST_F(Compositions, LetsTheOutermostOverrideOfAGroupCount) {
  folder_.Write("g/a.yaml", "x: a\n");
  folder_.Write("g/b.yaml", "x: b\n");
  folder_.Write("g/c.yaml", "x: c\n");
  folder_.Write("base.yaml", "defaults: [{g: a}]\n");
  folder_.Write("middle.yaml", "defaults: [base, {override g: b}]\n");
  folder_.Write("outer.yaml", "defaults: [middle, {override g: c}]\n");
  EXPECT_EQ(Composed("middle"), R"({"g":{"x":"b"}})");
  EXPECT_EQ(Composed("outer"), R"({"g":{"x":"c"}})");
  EXPECT_EQ(Composed("outer", {"g=b", "g=a"}), R"({"g":{"x":"a"}})");
  // Alone there is nothing to override.
  folder_.Write("lonely.yaml", "defaults: [{override g: b}]\n");
  EXPECT_EQ(Composed("lonely"),
            "error: the recipe chooses nothing for the group \"g\"\n"
            "  where:  lonely.yaml:1:25\n"
            "  hint:   to add it, leave out \"override\"\n");
}

TEST_F(Compositions, AppliesAFileLastUnlessSelfSaysWhere) {
  folder_.Write("base.yaml", "a: base\n");
  folder_.Write("last.yaml", "defaults: [base]\na: own\n");
  folder_.Write("first.yaml", "defaults: [_self_, base]\na: own\n");
  EXPECT_EQ(Composed("last"), R"({"a":"own"})");
  EXPECT_EQ(Composed("first"), R"({"a":"base"})");
}

TEST_F(Compositions, InheritsRecipesAndFilesOfAGroup) {
  folder_.Write("child.yaml",
                "defaults:\n  - parent\n  - _self_\nname: child\n");
  folder_.Write("parent.yaml",
                "defaults:\n  - params: fast\n  - _self_\n"
                "name: parent\nparams: {epochs: 3}\n");
  folder_.Write("params/fast.yaml", "defaults: [common]\nlr: 1\n");
  folder_.Write("params/common.yaml", "lr: 0.1\nseed: 7\n");
  EXPECT_EQ(Composed("child"),
            R"({"params":{"lr":1,"seed":7,"epochs":3},"name":"child"})");
}

TEST_F(Compositions, ChoosesAGroupAnew) {
  folder_.Write("parent.yaml",
                "defaults: [{params: small}, _self_]\nparams: {lr: 1}\n");
  folder_.Write("params/small.yaml", "size: 1\nonly_small: 1\n");
  folder_.Write("params/big.yaml", "size: 2\nlr: 5\n");
  folder_.Write("again.yaml", "defaults: [parent, {params: big}]\n");
  folder_.Write("override.yaml",
                "defaults: [parent, {override params: big}]\n");
  folder_.Write("none.yaml", "defaults: [parent, {override params: null}]\n");
  // Chosen again: in the later place. Overridden: in the place it had.
  EXPECT_EQ(Composed("again"), R"({"params":{"lr":5,"size":2}})");
  EXPECT_EQ(Composed("override"), R"({"params":{"size":2,"lr":1}})");
  EXPECT_EQ(Composed("none"), R"({"params":{"lr":1}})");
  EXPECT_EQ(Composed("parent", {"params=big"}),
            R"({"params":{"size":2,"lr":1}})");
  EXPECT_EQ(Composed("override", {"params=small"}),
            R"({"params":{"size":1,"only_small":1,"lr":1}})");
  EXPECT_EQ(Composed("parent", {"~params"}), R"({"params":{"lr":1}})");
  EXPECT_EQ(Composed("parent", {"params=big", "params.size=9"}),
            R"({"params":{"size":9,"lr":1}})");
}

TEST_F(Compositions, AddsAGroupFromTheCommandLine) {
  folder_.Write("main.yaml", "a: 1\n");
  folder_.Write("extra/more.yaml", "b: 2\n");
  EXPECT_EQ(Composed("main", {"+extra=more"}), R"({"a":1,"extra":{"b":2}})");
  EXPECT_EQ(Composed("main", {"+extra={c: 3}"}), R"({"a":1,"extra":{"c":3}})");
}

TEST_F(Compositions, SkipsWhatIsOptional) {
  folder_.Write(
      "main.yaml",
      "defaults:\n  - optional params: absent\n  - data: null\na: 1\n");
  EXPECT_EQ(Composed("main"), R"({"a":1})");
}

TEST_F(Compositions, DropsHydrasOwnSection) {
  folder_.Write("main.yaml", "a: 1\nhydra: {run: {dir: '${nowhere}'}}\n");
  EXPECT_EQ(Composed("main"), R"({"a":1})");
}

TEST_F(Compositions, AppliesShortcutsBeforeInterpolations) {
  folder_.Write("main.yaml",
                "lr:\ntraining_hyperparams: {initial_lr: 0.1}\n"
                "name: lr_${training_hyperparams.initial_lr}\n");
  EXPECT_EQ(Composed("main", {"lr=0.5"}),
            R"({"lr":0.5,"training_hyperparams":{"initial_lr":0.5},)"
            R"("name":"lr_0.5"})");
}

TEST_F(Compositions, RanksValuesByWhoSetThem) {
  folder_.Write("main.yaml", "defaults: [base, {params: p}, _self_]\nb: 2\n");
  folder_.Write("base.yaml", "a: 1\nb: 1\nc: 1\n");
  folder_.Write("params/p.yaml", "x: 1\n");
  Problems problems;
  const auto composed = Compose(For("main", {"c=3", "+params.y=4"}), problems);
  ASSERT_TRUE(composed) << FormatProblems(problems);
  const auto order = [&composed](const char* path) {
    return composed->recipe.FindPath(path)->order();
  };
  EXPECT_EQ(order("a"), 1);
  EXPECT_EQ(order("params.x"), 2);
  EXPECT_EQ(order("b"), 3);
  EXPECT_EQ(order("c"), 4);
  EXPECT_EQ(order("params.y"), 5);
  EXPECT_EQ(composed->recipe.Find("c")->mark(), (Mark{"command line", 0, 1}));
  EXPECT_EQ(composed->recipe.Find("b")->mark(),
            (Mark{folder_.path() + "/main.yaml", 2, 4}));
}

TEST_F(Compositions, TakesAFileAndSearchesItsFolder) {
  const std::string file = folder_.Write("sub/mine.yaml", "defaults: [near]\n");
  folder_.Write("sub/near.yaml", "a: near\n");
  folder_.Write("near.yaml", "a: far\n");
  Problems problems;
  const auto composed = Compose(For(file), problems);
  ASSERT_TRUE(composed) << FormatProblems(problems);
  EXPECT_EQ(composed->recipe.ToJson().dump(), R"({"a":"near"})");
  EXPECT_EQ(composed->name, "mine");
  EXPECT_EQ(composed->file, file);
}

TEST_F(Compositions, KeepsWhatIsOpenAndTargets) {
  folder_.Write(
      "main.yaml",
      "a: \?\?\?\nt: {_target_: numpy.arange, stop: 3}\nb: ${n}\nn: 1\n");
  EXPECT_EQ(Composed("main"),
            R"({"a":"???","t":{"_target_":"numpy.arange","stop":3},)"
            R"("b":1,"n":1})");
  Problems problems;
  EXPECT_THAT(Compose(For("main"), problems)->variables, ElementsAre("n"));
}

TEST_F(Compositions, TakesAnEmptyFileForAnEmptyMap) {
  folder_.Write("main.yaml", "# nothing\n");
  EXPECT_EQ(Composed("main"), "{}");
}

TEST_F(Compositions, ReportsAllThatIsWrongAtOnce) {
  folder_.Write("main.yaml",
                "defaults:\n"
                "  - params: bgi\n"
                "  - bse\n"
                "  - broken\n"
                "  - {a: 1, b: 2}\n"
                "  - params@x: big\n"
                "  - net: ${name}\n"
                "  - _self_\n");
  folder_.Write("params/big.yaml", "x: 1\n");
  folder_.Write("base.yaml", "x: 1\n");
  folder_.Write("broken.yaml", "x: 1\nx: 2\n");
  folder_.Write("odd.yaml", "- 1\n");
  EXPECT_EQ(Composed("main", {"seed", "optimiser/x=1"}),
            R"(error: no value in "seed"
  where:  command line
  hint:   write seed=VALUE
error: no item of a defaults list: {a: 1, b: 2}
  where:  main.yaml:5:5
  hint:   items are NAME, GROUP: NAME and _self_
error: cannot follow {"params@x": "big"} in a defaults list
  where:  main.yaml:6:5
  hint:   write the name out; @package and ${...} are not supported
error: cannot follow {net: "${name}"} in a defaults list
  where:  main.yaml:7:5
  hint:   write the name out; @package and ${...} are not supported
error: no params "bgi"
  detail: searched for params/bgi.yaml in FOLDER
  where:  main.yaml:2:13
  hint:   did you mean "big"?
error: no recipe "bse"
  detail: searched for bse.yaml in FOLDER
  where:  main.yaml:3:5
  hint:   did you mean "base"?
error: duplicate key "x"
  where:  broken.yaml:2:1, broken.yaml:1:1
  hint:   remove one of them
)");
  EXPECT_EQ(Composed("odd"),
            "error: \"odd.yaml\" is no map\n"
            "  detail: found [1]\n"
            "  where:  odd.yaml:1:1\n");
}

TEST_F(Compositions, BoundsTheNumberOfFiles) {
  folder_.Write("r0.yaml", "a: 1\n");
  for (int i = 1; i < 12; ++i) {
    const std::string before = "r" + std::to_string(i - 1);
    folder_.Write("r" + std::to_string(i) + ".yaml",
                  "defaults: [" + before + ", " + before + "]\n");
  }
  EXPECT_EQ(Composed("r7"), R"({"a":1})");
  EXPECT_EQ(Composed("r11"),
            "error: a recipe of more than 500 files\n"
            "  where:  r3.yaml:1:12\n"
            "  hint:   name each file once\n");
}

TEST_F(Compositions, PrintsACycleOfDefaultsWhole) {
  folder_.Write("main.yaml", "defaults: [a]\n");
  folder_.Write("a.yaml", "defaults:\n  - g: b\n");
  folder_.Write("g/b.yaml", "defaults:\n  - /a\n");
  EXPECT_EQ(Composed("main"),
            "error: recipes name each other in their defaults\n"
            "  detail: a -> g/b -> a\n"
            "  where:  a.yaml:2:8, g/b.yaml:2:5\n"
            "  hint:   remove one of these lines\n");
  folder_.Write("self.yaml", "defaults: [self]\n");
  EXPECT_EQ(Composed(folder_.path() + "/self.yaml"),
            "error: recipes name each other in their defaults\n"
            "  detail: self -> self\n"
            "  where:  self.yaml:1:12\n"
            "  hint:   remove one of these lines\n");
}

TEST_F(Compositions, NamesTheNearestRecipe) {
  folder_.Write("digits_resnet.yaml", "a: 1\n");
  EXPECT_EQ(Composed("digit_resnet"),
            "error: no recipe \"digit_resnet\"\n"
            "  detail: searched for digit_resnet.yaml in FOLDER\n"
            "  hint:   did you mean \"digits_resnet\"?\n");
  EXPECT_EQ(Composed("/nowhere/x.yaml"),
            "error: cannot read \"/nowhere/x.yaml\"\n"
            "  detail: there is no such file\n"
            "  where:  /nowhere/x.yaml\n");
}

TEST_F(Compositions, RefusesAChoiceForAGroupThatIsNotChosen) {
  folder_.Write("main.yaml", "defaults: [{params: big}]\n");
  folder_.Write("params/big.yaml", "x: 1\n");
  folder_.Write("parms/big.yaml", "x: 1\n");
  folder_.Write("net/deep.yaml", "x: 1\n");
  EXPECT_EQ(Composed("main", {"parms=big", "net=deep"}),
            "error: the recipe chooses nothing for the group \"net\"\n"
            "  detail: it chooses for params\n"
            "  where:  command line\n"
            "  hint:   to add it, write +net=deep\n"
            "error: the recipe chooses nothing for the group \"parms\"\n"
            "  detail: it chooses for params\n"
            "  where:  command line\n"
            "  hint:   did you mean \"params\"?\n");
}

}  // namespace
}  // namespace slipway::recipe
