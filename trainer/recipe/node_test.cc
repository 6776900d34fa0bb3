#include "trainer/recipe/node.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Node::Kind;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// {a: {b: [1, {c: text}]}, empty: {}, none: null}
Node Sample() {
  Node inner = Node::Map();
  inner.Set("c", Node::String("text"));
  Node a = Node::Map();
  a.Set("b", Node::List({Node::Int(1), std::move(inner)}));
  Node root = Node::Map();
  root.Set("a", std::move(a));
  root.Set("empty", Node::Map());
  root.Set("none", Node());
  return root;
}

TEST(Node, HoldsEachKind) {
  EXPECT_TRUE(Node().is_null());
  EXPECT_TRUE(Node::Bool(true).AsBool());
  EXPECT_EQ(Node::Int(-7).AsInt(), -7);
  EXPECT_EQ(Node::Int(2).AsDouble(), 2.0);
  EXPECT_EQ(Node::Float(0.5).AsDouble(), 0.5);
  EXPECT_EQ(Node::String("x").AsString(), "x");
  EXPECT_EQ(Node::List({Node::Int(1)}).items().size(), 1u);
  EXPECT_THAT(Node::Map().entries(), IsEmpty());
}

TEST(Node, NamesItsKindAsMessagesDo) {
  const std::vector<std::pair<Node, std::string>> cases = {
      {Node(), "null"},           {Node::Bool(false), "boolean"},
      {Node::Int(1), "integer"},  {Node::Float(1), "number"},
      {Node::String(""), "text"}, {Node::List(), "list"},
      {Node::Map(), "map"}};
  for (const auto& [node, name] : cases) EXPECT_EQ(node.kind_name(), name);
}

TEST(Node, KnowsItsPlaceAndOrder) {
  Node node = Node::Int(1, {"x.yaml", 3, 5});
  EXPECT_EQ(node.mark(), (Mark{"x.yaml", 3, 5}));
  EXPECT_EQ(node.order(), 0);
  node.set_mark({"y.yaml", 1, 1});
  node.set_order(4);
  const Node copy = node;
  EXPECT_EQ(copy.mark().file, "y.yaml");
  EXPECT_EQ(copy.order(), 4);
}

TEST(NodeDeathTest, RefusesAnotherKind) {
  EXPECT_DEATH(Node::String("1").AsInt(), "a text is no integer");
  EXPECT_DEATH(Node().AsBool(), "a null is no boolean");
  EXPECT_DEATH(Node::Bool(true).AsDouble(), "a boolean is no number");
  EXPECT_DEATH(Node::Int(1).AsString(), "an? integer is no text");
  EXPECT_DEATH(Node::List().Set("a", Node()), "a list has no keys");
}

TEST(Node, KeepsTheOrderInWhichKeysWereFirstSet) {
  Node map = Node::Map();
  map.Set("b", Node::Int(1), {"x", 1, 1});
  map.Set("a", Node::Int(2));
  map.Set("b", Node::Int(3), {"y", 2, 2});
  EXPECT_THAT(map.keys(), ElementsAre("b", "a"));
  EXPECT_EQ(map.Find("b")->AsInt(), 3);
  EXPECT_EQ(map.entries()[0].key_mark, (Mark{"y", 2, 2}));
  EXPECT_TRUE(map.Erase("b"));
  EXPECT_FALSE(map.Erase("b"));
  EXPECT_THAT(map.keys(), ElementsAre("a"));
}

TEST(Node, IsEmptyForAnotherKind) {
  const Node text = Node::String("x");
  EXPECT_THAT(text.items(), IsEmpty());
  EXPECT_THAT(text.entries(), IsEmpty());
  EXPECT_THAT(text.keys(), IsEmpty());
  EXPECT_EQ(text.Find("x"), nullptr);
}

TEST(Node, FindsPathsThroughMapsAndLists) {
  const Node root = Sample();
  EXPECT_EQ(root.FindPath("a.b.0")->AsInt(), 1);
  EXPECT_EQ(root.FindPath("a.b.1.c")->AsString(), "text");
  EXPECT_EQ(root.FindPath(""), &root);
  EXPECT_TRUE(root.FindPath("none")->is_null());
  for (const char* absent : {"x", "a.x", "a.b.2", "a.b.-1", "a.b.1x", "a.b.",
                             "none.x", "a.b.0.0", "a.b.99999999999999999999"}) {
    EXPECT_EQ(root.FindPath(absent), nullptr) << absent;
  }
}

TEST(Node, CopiesTheWholeSubtree) {
  Node root = Sample();
  const Node copy = root;
  root.Find("a")->Find("b")->mutable_items()[0] = Node::Int(9);
  EXPECT_EQ(copy.FindPath("a.b.0")->AsInt(), 1);
  EXPECT_EQ(copy, Sample());
  EXPECT_FALSE(root == copy);
}

TEST(Node, ComparesByValueNotByPlace) {
  Node a = Node::Map({"x", 1, 1}), b = Node::Map({"y", 2, 2});
  a.Set("p", Node::Int(1));
  a.Set("q", Node::Float(kNan));
  b.Set("q", Node::Float(kNan));
  b.Set("p", Node::Int(1));
  EXPECT_EQ(a, b);
  b.Set("r", Node());
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(Node::Int(1) == Node::Float(1));
  EXPECT_FALSE(Node::Int(1) == Node::Bool(true));
  EXPECT_FALSE(Node::List({Node::Int(1), Node::Int(2)}) ==
               Node::List({Node::Int(2), Node::Int(1)}));
}

TEST(Node, IsJsonWithItsOrderKept) {
  Node root = Node::Map();
  root.Set("z", Node::Float(kInf));
  root.Set("a", Node::List({Node::Float(-kInf), Node::Float(kNan), Node(),
                            Node::Bool(true), Node::Float(2)}));
  EXPECT_EQ(root.ToJson().dump(),
            R"({"z":"inf","a":["-inf","nan",null,true,2.0]})");
}

TEST(Node, IsYamlInBlocks) {
  EXPECT_EQ(Sample().ToYaml(),
            "a:\n"
            "  b:\n"
            "    - 1\n"
            "    -\n"
            "      c: text\n"
            "empty: {}\n"
            "none: null\n");
  EXPECT_EQ(Node::Int(3).ToYaml(), "3\n");
}

TEST(Node, QuotesTextThatWouldReadAsSomethingElse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"word", "word"},     {"a/b.c-d_1+", "a/b.c-d_1+"},
      {"", "\"\""},         {"yes", "\"yes\""},
      {"null", "\"null\""}, {"1e3", "\"1e3\""},
      {"a: b", "\"a: b\""}, {"${x}", "\"${x}\""},
      {"-x", "\"-x\""},     {"two\nlines", "\"two\\nlines\""},
      {"#c", "\"#c\""},     {"caf\xC3\xA9", "\"caf\xC3\xA9\""}};
  for (const auto& [text, yaml] : cases) {
    EXPECT_EQ(Node::String(text).ToYaml(), yaml + "\n");
  }
}

TEST(Node, WritesNumbersThatReadBackEqual) {
  EXPECT_EQ(Node::Float(1).ToYaml(), "1.0\n");
  EXPECT_EQ(Node::Float(1e-6).ToYaml(), "1e-06\n");
  EXPECT_EQ(Node::Float(0.1).ToYaml(), "0.1\n");
  EXPECT_EQ(Node::Float(kInf).ToYaml(), ".inf\n");
  EXPECT_EQ(Node::Float(-kInf).ToYaml(), "-.inf\n");
  EXPECT_EQ(Node::Float(kNan).ToYaml(), ".nan\n");
}

TEST(Node, ShowsItselfOnOneShortLine) {
  EXPECT_EQ(Sample().ToDisplay(),
            R"({a: {b: [1, {c: "text"}]}, empty: {}, none: null})");
  const std::string shown = Node::String(std::string(200, 'x')).ToDisplay();
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_TRUE(shown.ends_with("xx..."));
  const Node accents = Node::String(std::string(
      "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
      "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
      "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
      "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"));
  EXPECT_TRUE(accents.ToDisplay().ends_with("\xC3\xA9..."));
}

TEST(Node, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(Node::String("a\xFF").ToDisplay(), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace slipway::recipe
