#include "trainer/recipe/interpolate.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kBase[] =
    "a: 1\n"
    "b: 2.5\n"
    "t: text\n"
    "is: true\n"
    "none: null\n"
    "e: 1.0e-5\n"
    "list: [1, 2.5, x, null, true, [3]]\n"
    "map: {x: 1, y: {z: deep, up: \"${..x}\", same: \"${.z}\", top: "
    "\"${a}\"}}\n"
    "key: x\n"
    "link: ${map.y}\n"
    "open: \"\?\?\?\"\n";

Node Parsed(const std::string& text) {
  Problems problems;
  const auto node = ParseYaml(text, "x.yaml", problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return node.value_or(Node());
}

// All of the recipe as JSON, or what is wrong with it.
std::string Resolved(const Node& root) {
  Problems problems;
  const auto node = Interpolate(root, {}, problems);
  EXPECT_EQ(node.has_value(), problems.empty());
  return node ? node->ToJson().dump() : FormatProblems(problems);
}

// `value` as JSON, in a recipe with the values above; or the detail of the
// problem.
std::string Value(const std::string& value) {
  Node root = Parsed(kBase);
  root.Set("v", Node::String(value));
  Problems problems;
  const auto node = Interpolate(root, {}, problems);
  if (node) return node->Find("v")->ToJson().dump();
  EXPECT_EQ(problems.size(), 1u) << FormatProblems(problems);
  return problems[0].detail;
}

struct Case {
  const char* text;
  const char* result;
};

TEST(Interpolate, TakesValuesFromPaths) {
  const Case cases[] = {
      {"${a}", "1"},
      {"${ a }", "1"},
      {"${b}", "2.5"},
      {"${is}", "true"},
      {"${none}", "null"},
      {"${list}", R"([1,2.5,"x",null,true,[3]])"},
      {"${map.y}", R"({"z":"deep","up":1,"same":"deep","top":1})"},
      {"${map[x]}", "1"},
      {"${map.y[z]}", "\"deep\""},
      {"${list.1}", "2.5"},
      {"${list[5][0]}", "3"},
      {"${.a}", "1"},
      {"${map.${key}}", "1"},
      {"${link.up}", "1"},
      {"a}b $a $ {a}", "\"a}b $a $ {a}\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Value(c.text), c.result) << c.text;
}

TEST(Interpolate, WritesValuesIntoTextAsPythonDoes) {
  const Case cases[] = {
      {"x${a}y", "\"x1y\""},
      {"${a}${b}", "\"12.5\""},
      {"${a} ${is} ${none}", "\"1 True None\""},
      {"${list}!", "\"[1, 2.5, 'x', None, True, [3]]!\""},
      {"e${e}", "\"e1e-05\""},
      {"${a}}", "\"1}\""},
      {"\\${a}", "\"${a}\""},
      {"\\\\${a}", "\"\\\\1\""},
      {"x\\${a}y ${a}", "\"x${a}y 1\""},
      {"\\\\a ${a}", "\"\\\\\\\\a 1\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Value(c.text), c.result) << c.text;
}

TEST(Interpolate, CallsResolvers) {
  const Case cases[] = {
      {"${add:1,2}", "3"},
      {"${add: 1 , 2.5 }", "3.5"},
      {"${add:${a},${mul:2,3}}", "7"},
      {"${add:1,2}${a}", "\"31\""},
      {"n${add:1,2}", "\"n3\""},
      {"${getitem:${list},-1}", "[3]"},
      {"${getitem:{p: 1, q: two},q}", "\"two\""},
      {"${getitem:{p:1},p}", "1"},
      {"${len:{}}", "0"},
      {"${last:[1,[2,3]]}", "[2,3]"},
      {"${cond:1,[a b,'c, d',\"e }\"],0}", R"(["a b","c, d","e }"])"},
      {"${cond:1,[1_000,1e3,true,NULL,on,.5,0x10,017,-3,-0,a-b,x/y.z],0}",
       R"([1000,1000.0,true,null,"on",0.5,"0x10","017",-3,0,"a-b","x/y.z"])"},
      {"${cond:1,inf,0}", "\"inf\""},
      {"${cond:1,'',0}", "\"\""},
      {"${cond:1,'${a}',0}", "\"1\""},
      {"${cond:1,x${a}y,0}", "\"x1y\""},
      {"${cond:1, x ${a} ,0}", "\"x 1\""},
      {"${cond:1,a:b,0}", "\"a:b\""},
      {"${cond:1,a\\,b,0}", "\"a,b\""},
      {"${cond:1,'it\\'s',0}", "\"it's\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Value(c.text), c.result) << c.text;
}

TEST(Interpolate, SaysWhyAValueCannotBeResolved) {
  const Case cases[] = {
      {"${nope}", "there is no key \"nope\" in the recipe"},
      {"${map.w}", "there is no key \"w\" in \"map\""},
      {"${list.9}", "there is no key \"9\" in \"list\""},
      {"${open}", "\"open\" is still open (\?\?\?)"},
      {"${a.b}", "\"a\" is 1 and has no key \"b\""},
      {"${none.b}", "\"none\" is null and has no key \"b\""},
      {"${..a}", "\"..a\" leads above the recipe"},
      {"${a", "\"${\" is never closed"},
      {"${}", "\"\" is no path"},
      {"${a..b}", "\"a..b\" is no path"},
      {"${list[0}", "\"list[0\" is no path"},
      {"${add:1", "\"}\" is missing"},
      {"${add:[1}", "\"]\" is missing"},
      {"${add:'1}", "a quote is never closed"},
      {"${add:'1' 2}", "a comma is missing between arguments"},
      {"${len:{a}}", "a map's item is no \"key: value\""},
      {"${add:x,1}", "add: expected numbers"},
      {"${first:[]}", "first: a list of 0 has no item 0"},
  };
  for (const Case& c : cases) EXPECT_EQ(Value(c.text), c.result) << c.text;
}

TEST(Interpolate, ReportsEachProblemOnceWithItsPlace) {
  EXPECT_EQ(Resolved(Parsed("classes: 10\n"
                            "net: {n: '${clases}', m: '${.n}'}\n"
                            "copy: ${net}\n"
                            "text: a ${net.k} b\n")),
            "error: cannot resolve \"${clases}\"\n"
            "  detail: there is no key \"clases\" in the recipe\n"
            "  where:  x.yaml:2:10\n"
            "  hint:   did you mean \"classes\"?\n"
            "error: cannot resolve \"a ${net.k} b\"\n"
            "  detail: there is no key \"k\" in \"net\"\n"
            "  where:  x.yaml:4:7\n");
}

TEST(Interpolate, PrintsCyclesWhole) {
  EXPECT_EQ(Resolved(Parsed("a: ${b}\nb: x${c.d}\nc: {d: '${a}'}\ne: ${a}\n")),
            "error: values refer to each other in a cycle\n"
            "  detail: a -> b -> c.d -> a\n"
            "  where:  x.yaml:1:4, x.yaml:2:4, x.yaml:3:8\n"
            "  hint:   give one of them a value of its own\n");
  EXPECT_EQ(Resolved(Parsed("a: {b: {c: '${a}'}}")),
            "error: values refer to each other in a cycle\n"
            "  detail: a.b.c -> a\n"
            "  where:  x.yaml:1:12\n"
            "  hint:   give one of them a value of its own\n");
  EXPECT_EQ(Resolved(Parsed("a: ${.a}")),
            "error: values refer to each other in a cycle\n"
            "  detail: a -> a\n"
            "  where:  x.yaml:1:4\n"
            "  hint:   give one of them a value of its own\n");
}

TEST(Interpolate, AllowsAMapToReferToItsOwnParts) {
  EXPECT_EQ(Resolved(Parsed("a: {b: '${a.c}', c: '${.d}', d: 1}")),
            R"({"a":{"b":1,"c":1,"d":1}})");
}

TEST(Interpolate, KeepsThePlaceAndOrderOfTheInterpolation) {
  Node root = Parsed("a: {x: 1}\nb: ${a}\n");
  SetOrder(1, root);
  SetOrder(2, *root.Find("b"));
  Problems problems;
  const auto node = Interpolate(root, {}, problems);
  ASSERT_TRUE(node);
  EXPECT_EQ(ToString(node->Find("b")->mark()), "x.yaml:2:4");
  EXPECT_EQ(node->Find("b")->order(), 2);
  EXPECT_EQ(node->FindPath("b.x")->order(), 2);
  EXPECT_EQ(ToString(node->FindPath("b.x")->mark()), "x.yaml:1:8");
}

TEST(Interpolate, TellsWhichPathsAreUsed) {
  Problems problems;
  std::set<std::string> variables;
  Interpolate(Parsed(kBase), {}, problems, &variables);
  EXPECT_THAT(variables, ElementsAre("a", "map.x", "map.y", "map.y.z"));
}

TEST(Interpolate, BoundsLevels) {
  std::string chain = "v0: 1\n";
  for (int i = 1; i <= 1000; ++i) {
    chain += "v" + std::to_string(1001 - i) + ": ${v" +
             std::to_string(1000 - i) + "}\n";
  }
  EXPECT_THAT(Resolved(Parsed(chain)), HasSubstr("over too many levels"));
  std::string nested = "x";
  for (int i = 0; i < 10'000; ++i) nested = "${" + nested;
  EXPECT_THAT(Value(nested), HasSubstr("over too many levels"));
  EXPECT_THAT(Value("${len:" + std::string(10'000, '[')),
              HasSubstr("over too many levels"));
}

TEST(Interpolate, BoundsWhatItProduces) {
  // Each value is twice the one before.
  std::string text = "v0: xxxxxxxxxx\n", list = "v0: [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string name = "v" + std::to_string(i);
    const std::string before = "${v" + std::to_string(i - 1) + "}";
    text += name + ": " + before + before + "\n";
    list += name + ": ['" + before + "', '" + before + "']\n";
  }
  EXPECT_THAT(Resolved(Parsed(text)), HasSubstr("grows beyond all bounds"));
  EXPECT_THAT(Resolved(Parsed(list)), HasSubstr("grows beyond all bounds"));
}

}  // namespace
}  // namespace slipway::recipe
