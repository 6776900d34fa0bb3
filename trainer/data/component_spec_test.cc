#include "trainer/data/component_spec.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::data {
namespace {

recipe::Node Yaml(const std::string& text) {
  Problems problems;
  return recipe::ParseYaml(text, "r.yaml", problems).value();
}

TEST(ComponentSpec, ReadsEveryWayToWriteOne) {
  struct Case {
    const char* yaml;
    const char* name;
    const char* params;
    int column;
  };
  const Case cases[] = {
      {"ToTensor", "ToTensor", "null", 1},
      {"{RandomCrop: {size: 8}}", "RandomCrop", "{size: 8}", 2},
      {"{ToTensor: }", "ToTensor", "null", 2},
      {"{_target_: a.b.CollateMixup, alpha: 0.2}", "CollateMixup",
       "{alpha: 0.2}", 12},
      {"{_target_: Plain}", "Plain", "{}", 12},
  };
  for (const Case& c : cases) {
    Problems problems;
    const auto spec = ReadComponent(Yaml(c.yaml), "part", problems);
    ASSERT_TRUE(spec.has_value()) << c.yaml;
    EXPECT_EQ(spec->name, c.name);
    EXPECT_TRUE(spec->params == Yaml(c.params)) << spec->params.ToDisplay();
    EXPECT_EQ(spec->where.column, c.column) << c.yaml;
    EXPECT_TRUE(problems.empty());
  }
}

TEST(ComponentSpec, ReadsAListWithoutWhatIsWrong) {
  Problems problems;
  const std::vector<ComponentSpec> specs = ReadComponents(
      Yaml("[A, 7, {B: {x: 1}}, {C: 1, D: 2}, []]"), "transform", problems);
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].name, "A");
  EXPECT_EQ(specs[1].name, "B");
  EXPECT_EQ(FormatProblems(problems), R"(error: a transform is 7
  detail: expected Name, or Name: {its parameters}
  where:  r.yaml:1:5
error: a transform is {C: 1, D: 2}
  detail: expected Name, or Name: {its parameters}
  where:  r.yaml:1:21
error: a transform is []
  detail: expected Name, or Name: {its parameters}
  where:  r.yaml:1:35
)");
}

TEST(ComponentSpec, ReadsOneWhereAListMayBe) {
  Problems problems;
  EXPECT_EQ(ReadComponents(Yaml("ToTensor"), "transform", problems).size(), 1u);
  EXPECT_TRUE(ReadComponents(Yaml("null"), "transform", problems).empty());
  EXPECT_TRUE(problems.empty());
}

TEST(ComponentSpec, TellsTheNearestOfTheKnownNames) {
  ComponentSpec spec;
  spec.name = "ToTenser";
  spec.where = {"r.yaml", 3, 5};
  EXPECT_EQ(FormatProblem(
                UnknownComponent(spec, "transform", {"Resize", "ToTensor"})),
            R"(error: there is no transform "ToTenser"
  where:  r.yaml:3:5
  hint:   did you mean "ToTensor"?
)");
  spec.name = "Wobble";
  EXPECT_EQ(FormatProblem(
                UnknownComponent(spec, "transform", {"Resize", "ToTensor"})),
            R"(error: there is no transform "Wobble"
  where:  r.yaml:3:5
  hint:   known are Resize, ToTensor
)");
}

}  // namespace
}  // namespace slipway::data
