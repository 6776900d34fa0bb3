#include "trainer/plan/config_field.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/plan/plan_testutil.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/params.h"

namespace slipway::plan {
namespace {

using recipe::Node;

ConfigField Declare(const std::string& declaration, Problems& problems) {
  const Node config = MakeRecipe("value: " + declaration);
  return ReadConfigField(config.entries()[0], problems);
}

// A declaration without mistakes.
ConfigField Field(const std::string& declaration) {
  Problems problems;
  const ConfigField field = Declare(declaration, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return field;
}

Node Read(const ConfigField& field, const std::string& given,
          Problems& problems) {
  const Node map = MakeRecipe(given);
  recipe::Params params(map, "plugin \"test\"", problems);
  Node value = ReadConfigValue(field, map, params);
  params.Finish();
  return value;
}

TEST(ConfigField, ReadsItsDeclaration) {
  const ConfigField field = Field(
      "{type: float, default: 1, min: 0, max: 2.5, unit: s, help: how long}");
  EXPECT_EQ(field.key, "value");
  EXPECT_EQ(field.type, ConfigField::Type::kFloat);
  EXPECT_EQ(field.fallback, Node::Float(1));
  EXPECT_EQ(field.min, 0);
  EXPECT_EQ(field.max, 2.5);
  EXPECT_EQ(field.unit, "s");
  EXPECT_EQ(field.help, "how long");
  EXPECT_EQ(field.mark, (Mark{"recipe.yaml", 1, 1}));
}

struct Conversion {
  std::string declaration;
  std::string given;
  Node value;
};

TEST(ConfigField, TakesWhatFits) {
  const std::vector<Conversion> conversions = {
      {"{type: bool, help: h}", "value: yes", Node::Bool(true)},
      {"{type: int, min: 1, help: h}", "value: 1", Node::Int(1)},
      {"{type: int, min: 0.5, max: 2.5, help: h}", "value: 2", Node::Int(2)},
      {"{type: int, enum: [1, 2], help: h}", "value: 2", Node::Int(2)},
      {"{type: float, help: h}", "value: 1", Node::Float(1)},
      {"{type: float, enum: [0.5, 1], help: h}", "value: 1", Node::Float(1)},
      {"{type: string, help: h}", "value: x", Node::String("x")},
      {"{type: string, enum: [x, y], help: h}", "value: y", Node::String("y")},
      {"{type: list, help: h}", "value: [1]", Node::List({Node::Int(1)})},
      {"{type: map, help: h}", "value: {}", Node::Map()},
      {"{type: any, help: h}", "value: 3", Node::Int(3)},
      {"{type: any, default: {a: 1}, help: h}", "value: x", Node::String("x")},
      {"{type: int, default: 7, help: h}", "{}", Node::Int(7)},
      {"{type: int, default: 7, help: h}", "value: null", Node::Int(7)},
      {"{type: int, help: h}", "{}", Node()},
  };
  for (const Conversion& c : conversions) {
    Problems problems;
    EXPECT_EQ(Read(Field(c.declaration), c.given, problems), c.value)
        << c.declaration << " of " << c.given;
    EXPECT_EQ(FormatProblems(problems), "");
  }
}

TEST(ConfigField, KeepsTheValuesPlace) {
  Problems problems;
  const Node value =
      Read(Field("{type: float, help: h}"), "\nvalue: 3", problems);
  EXPECT_EQ(value.mark(), (Mark{"recipe.yaml", 2, 8}));
}

struct Case {
  std::string declaration;
  std::string given;
};

TEST(ConfigField, SaysWhatDoesNotFit) {
  const std::vector<Case> cases = {
      {"{type: bool, help: h}", "value: 1"},
      {"{type: int, min: 1, help: h}", "value: 0"},
      {"{type: int, help: h}", "value: 1.5"},
      {"{type: int, enum: [1, 2], help: h}", "value: 3"},
      {"{type: int, enum: [1, 2], help: h}", "value: x"},
      {"{type: float, min: 0, max: 1, help: h}", "value: 1.5"},
      {"{type: float, help: h}", "value: fast"},
      {"{type: string, enum: [bf16, fp16], help: h}", "value: fp8"},
      {"{type: string, help: h}", "value: 3"},
      {"{type: list, help: h}", "value: 3"},
      {"{type: map, help: h}", "value: [3]"},
  };
  std::string text;
  for (const Case& c : cases) {
    Problems problems;
    Read(Field(c.declaration), c.given, problems);
    EXPECT_TRUE(HasErrors(problems)) << c.declaration << " of " << c.given;
    absl::StrAppend(&text, "### ", c.given, " for ", c.declaration, "\n",
                    FormatProblems(problems), "\n");
  }
  ExpectGolden("trainer/plan/testdata/config_values.golden", text);
}

TEST(ConfigField, SaysWhatIsWrongWithADeclaration) {
  std::string text;
  for (const char* declaration : {
           "{}",
           "3",
           "{type: number, help: h}",
           "{type: int, default: 1.5, help: h}",
           "{type: int, default: 3, max: 2, help: h}",
           "{type: int, min: 3, max: 2, help: h}",
           "{type: string, min: 3, help: h}",
           "{type: string, enum: [a, 3], help: h}",
           "{type: string, enum: a, help: h}",
           "{type: string, enum: [a, b], default: c, help: h}",
           "{type: list, enum: [[1], [2]], help: h}",
           "{type: int, defualt: 3, help: h}",
       }) {
    Problems problems;
    Declare(declaration, problems);
    EXPECT_TRUE(HasErrors(problems)) << declaration;
    absl::StrAppend(&text, "### ", declaration, "\n", FormatProblems(problems),
                    "\n");
  }
  Problems reserved;
  const Node config = MakeRecipe("on_error: {type: string, help: h}");
  ReadConfigField(config.entries()[0], reserved);
  absl::StrAppend(&text, "### a name that is taken\n", FormatProblems(reserved),
                  "\n");
  ExpectGolden("trainer/plan/testdata/config_declarations.golden", text);
}

TEST(ConfigField, RefusesKeysThatRecipesNeedThemselves) {
  for (const char* key : {"version", "on_error", "config"}) {
    const Node config = MakeRecipe(absl::StrCat(key, ": {type: int, help: h}"));
    Problems problems;
    ReadConfigField(config.entries()[0], problems);
    ASSERT_EQ(problems.size(), 1u) << key;
    EXPECT_EQ(problems[0].message,
              absl::StrCat("\"", key,
                           "\" is no name for a configuration key: "
                           "it has a meaning of its own in recipes"));
  }
}

}  // namespace
}  // namespace slipway::plan
