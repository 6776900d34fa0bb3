#include "trainer/recipe/merge.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

Node Parsed(const std::string& text, const std::string& file) {
  Problems problems;
  const auto node = ParseYaml(text, file, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return node.value_or(Node());
}

TEST(Merge, MergesMapsAndReplacesTheRest) {
  struct Case {
    const char* into;
    const char* from;
    const char* merged;
  };
  const Case cases[] = {
      {"{a: 1, b: 2}", "{b: 3, c: 4}", R"({"a":1,"b":3,"c":4})"},
      {"{a: {x: 1, y: {z: 2}}}", "{a: {y: {w: 3}}}",
       R"({"a":{"x":1,"y":{"z":2,"w":3}}})"},
      {"{a: [1, 2]}", "{a: [3]}", R"({"a":[3]})"},
      {"{a: {x: 1}}", "{a: null}", R"({"a":null})"},
      {"{a: null}", "{a: {x: 1}}", R"({"a":{"x":1}})"},
      {"{a: {x: 1}}", "{a: [1]}", R"({"a":[1]})"},
      {"{a: {x: 1}}", "{a: '${b}'}", R"({"a":"${b}"})"},
      {"{a: 1, b: {c: 2}}", "a: \?\?\?\nb: \?\?\?\nd: \?\?\?\n",
       R"({"a":1,"b":{"c":2},"d":"???"})"},
      {"{}", "{a: {b: 1}}", R"({"a":{"b":1}})"},
      {"{a: 1}", "{}", R"({"a":1})"},
  };
  for (const Case& c : cases) {
    Node into = Parsed(c.into, "a");
    Merge(Parsed(c.from, "b"), into);
    EXPECT_EQ(into.ToJson().dump(), c.merged) << c.into << " + " << c.from;
  }
}

TEST(Merge, MergesIntoACopyOfWhatAnInterpolationRefersTo) {
  struct Case {
    const char* into;
    const char* from;
    const char* merged;
  };
  // The merged values are OmegaConf's.
  const Case cases[] = {
      {"{a: {x: 1}, b: '${a}'}", "{b: {y: 2}}",
       R"({"a":{"x":1},"b":{"x":1,"y":2}})"},
      {"{g: {a: {x: 1}, b: '${.a}'}}", "{g: {b: {y: 2}}}",
       R"({"g":{"a":{"x":1},"b":{"x":1,"y":2}}})"},
      {"{a: {x: 1}, b: '${a}'}", "{a: {x: 5}, b: {y: 2}}",
       R"({"a":{"x":5},"b":{"x":5,"y":2}})"},
      {"{a: {x: 1}, b: '${a}'}", "{b: {y: 2}, a: {x: 5}}",
       R"({"a":{"x":5},"b":{"x":1,"y":2}})"},
      {"{a: {x: 1}, b: '${c.d}', c: {d: '${a}'}}", "{b: {y: 2}}",
       R"({"a":{"x":1},"b":{"x":1,"y":2},"c":{"d":"${a}"}})"},
      {"{a: {b: '${..c}'}, c: {x: 1}}", "{a: {b: {y: 2}}}",
       R"({"a":{"b":{"x":1,"y":2}},"c":{"x":1}})"},
      {"{b: '${a}'}", "{b: {y: 2}}", R"({"b":{"y":2}})"},
      {"{a: 3, b: '${a}'}", "{b: {y: 2}}", R"({"a":3,"b":{"y":2}})"},
      {"{a: [1], b: '${a}'}", "{b: [2]}", R"({"a":[1],"b":[2]})"},
      // Ours: no interpolation of a plain path, and one that has no end.
      {"{a: {x: 1}, b: 'n${a}'}", "{b: {y: 2}}",
       R"({"a":{"x":1},"b":{"y":2}})"},
      {"{a: '${b}', b: '${a}'}", "{b: {y: 2}}", R"({"a":"${b}","b":{"y":2}})"},
      {"{b: '${....a}'}", "{b: {y: 2}}", R"({"b":{"y":2}})"},
  };
  for (const Case& c : cases) {
    Node into = Parsed(c.into, "a");
    Merge(Parsed(c.from, "b"), into);
    EXPECT_EQ(into.ToJson().dump(), c.merged) << c.into << " + " << c.from;
  }
}

TEST(MergeAt, FollowsInterpolationsFromWhereItStands) {
  Node root = Parsed("{g: {a: {x: 1}, b: {c: '${..a}'}}}", "a");
  Node& at = *root.Find("g")->Find("b");
  MergeAt(Parsed("{c: {y: 2}}", "b"), at, {"g", "b"}, root);
  EXPECT_EQ(root.FindPath("g.b.c")->ToJson().dump(), R"({"x":1,"y":2})");
}

TEST(Merge, KeepsThePlaceAndOrderOfWhoeverSpokeLast) {
  Node into = Parsed("a: 1\nmap:\n  x: 1\n  y: 2\n", "base");
  SetOrder(1, into);
  Node from = Parsed("map:\n  y: 3\n  z: 4\n", "child");
  SetOrder(2, from);
  Merge(std::move(from), into);

  struct Case {
    const char* path;
    const char* place;
    int order;
  };
  const Case cases[] = {{"a", "base:1:4", 1},
                        {"map", "child:2:3", 2},
                        {"map.x", "base:3:6", 1},
                        {"map.y", "child:2:6", 2},
                        {"map.z", "child:3:6", 2}};
  for (const Case& c : cases) {
    const Node* node = into.FindPath(c.path);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(ToString(node->mark()), c.place) << c.path;
    EXPECT_EQ(node->order(), c.order) << c.path;
  }
  EXPECT_EQ(ToString(into.entries()[1].key_mark), "child:1:1");
}

TEST(SetOrder, ReachesAllOfATree) {
  Node node = Parsed("a: [{b: 1}]", "x");
  SetOrder(7, node);
  EXPECT_EQ(node.order(), 7);
  EXPECT_EQ(node.FindPath("a.0.b")->order(), 7);
}

}  // namespace
}  // namespace slipway::recipe
