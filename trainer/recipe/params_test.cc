#include "trainer/recipe/params.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Mark At(int line) { return {"x.yaml", line, 7}; }

// A map of "key: value", one a line.
Node Map(std::vector<std::pair<std::string, Node>> values) {
  Node map = Node::Map({"x.yaml", 1, 1});
  int line = 1;
  for (auto& [key, value] : values) {
    ++line;
    value.set_mark(At(line));
    map.Set(key, std::move(value), {"x.yaml", line, 3});
  }
  return map;
}

TEST(Params, ReadsEachType) {
  const Node node = Map({{"i", Node::Int(3)},
                         {"d", Node::Float(0.5)},
                         {"whole", Node::Int(2)},
                         {"b", Node::Bool(true)},
                         {"t", Node::String("exp")},
                         {"list", Node::List({Node::Int(1), Node::Float(2)})},
                         {"ints", Node::List({Node::Int(1), Node::Int(2)})},
                         {"raw", Node::Map()}});
  Problems problems;
  Params params(node, "model m", problems);
  EXPECT_EQ(params.Int("i", {.min = 3, .max = 3}), 3);
  EXPECT_EQ(params.Double("d"), 0.5);
  EXPECT_EQ(params.Double("whole"), 2.0);
  EXPECT_TRUE(params.Bool("b"));
  EXPECT_EQ(params.Text("t", {}, {"exp", "constant"}), "exp");
  EXPECT_THAT(params.Doubles("list", 2), ElementsAre(1.0, 2.0));
  EXPECT_THAT(params.Ints("ints", 0), ElementsAre(1, 2));
  EXPECT_TRUE(params.Raw("raw")->is_map());
  params.Finish();
  EXPECT_EQ(FormatProblems(problems), "");
}

TEST(Params, FallsBackWhenAbsentOrNull) {
  const Node node = Map({{"null", Node()}});
  Problems problems;
  Params params(node, "model m", problems);
  EXPECT_FALSE(params.Has("null"));
  EXPECT_FALSE(params.Has("absent"));
  EXPECT_EQ(params.Int("null", {.fallback = 4, .max = 1}), 4);
  EXPECT_EQ(params.Double("absent", {.fallback = 0.25}), 0.25);
  EXPECT_TRUE(params.Bool("absent", true));
  EXPECT_EQ(params.Text("null", "x"), "x");
  EXPECT_THAT(params.Doubles("absent", 3, {{1, 2, 3}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(params.Ints("absent", 1, {{}}), IsEmpty());
  EXPECT_EQ(params.Raw("absent"), nullptr);
  params.Finish();
  EXPECT_EQ(FormatProblems(problems), "");
}

TEST(Params, TakesOneNumberForAllPlaces) {
  const Node node = Map({{"n", Node::Int(5)}});
  Problems problems;
  Params params(node, "m", problems);
  EXPECT_THAT(params.Ints("n", 2), ElementsAre(5, 5));
  EXPECT_THAT(params.Doubles("n", 0), ElementsAre(5.0));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(Params, AcceptsNullForNoParameters) {
  Problems problems;
  const Node none;
  Params params(none, "loss l", problems);
  EXPECT_EQ(params.Int("x", {.fallback = 1}), 1);
  params.Finish();
  EXPECT_THAT(problems, IsEmpty());
}

TEST(Params, ReportsEveryProblemWithItsPlace) {
  const Node node = Map({{"classes", Node::String("ten")},
                         {"depth", Node::Float(1000)},
                         {"drop", Node::Float(1.5)},
                         {"rate", Node::Float(-1)},
                         {"flag", Node::Int(1)},
                         {"mode", Node::String("exq")},
                         {"shape", Node::List({Node::Int(1)})},
                         {"sizes", Node::List({Node::Float(1.5)})},
                         {"num_clases", Node::Int(3)},
                         {"whatever", Node::Int(3)}});
  Problems problems;
  Params params(node, "model m", problems);
  EXPECT_EQ(params.Int("classes", {.fallback = 10, .min = 1}), 10);
  EXPECT_EQ(params.Int("depth"), 0);
  EXPECT_EQ(params.Double("drop", {.fallback = 0, .min = 0, .max = 1}), 0);
  EXPECT_EQ(params.Double("rate", {.min = 0}), 0);
  EXPECT_FALSE(params.Bool("flag"));
  EXPECT_EQ(params.Text("mode", {}, {"exp", "constant"}), "");
  EXPECT_THAT(params.Doubles("shape", 2), ElementsAre(0, 0));
  EXPECT_THAT(params.Ints("sizes", 0), IsEmpty());
  params.Int("num_classes");
  params.Ignore("extra");
  params.Fail("depth", "depth and drop do not fit", "choose one");
  params.Finish();
  EXPECT_EQ(FormatProblems(problems),
            R"(error: "classes" of model m is "ten"
  detail: expected an integer of at least 1, found text "ten"
  where:  x.yaml:2:7
error: "depth" of model m is 1000.0
  detail: expected an integer, found number 1000.0
  where:  x.yaml:3:7
  hint:   write 1000
error: "drop" of model m is 1.5
  detail: expected a number from 0.0 to 1.0, found number 1.5
  where:  x.yaml:4:7
error: "rate" of model m is -1.0
  detail: expected a number of at least 0.0, found number -1.0
  where:  x.yaml:5:7
error: "flag" of model m is 1
  detail: expected true or false, found integer 1
  where:  x.yaml:6:7
error: "mode" of model m is "exq"
  detail: expected one of exp, constant, found text "exq"
  where:  x.yaml:7:7
  hint:   did you mean "exp"?
error: "shape" of model m is [1]
  detail: expected a list of 2 numbers or a number, found list [1]
  where:  x.yaml:8:7
error: "sizes" of model m is [1.5]
  detail: expected a list of integers or an integer, found list [1.5]
  where:  x.yaml:9:7
error: model m needs a value for "num_classes"
  where:  x.yaml:1:1
error: depth and drop do not fit
  where:  x.yaml:3:7
  hint:   choose one
error: unknown parameter "num_clases" of model m
  where:  x.yaml:10:3
  hint:   did you mean "num_classes"?
error: unknown parameter "whatever" of model m
  where:  x.yaml:11:3
  hint:   known are classes, depth, drop, rate, flag, mode, shape, sizes, num_classes, extra
)");
}

TEST(Params, RefusesANanAndWhatIsNoMap) {
  Problems problems;
  const Node list = Node::List({}, At(4));
  Params none(list, "metric m", problems);
  none.Int("x");
  const Node nan =
      Map({{"x", Node::Float(std::numeric_limits<double>::quiet_NaN())}});
  Params params(nan, "metric m", problems);
  params.Double("x");
  EXPECT_EQ(FormatProblems(problems),
            R"(error: the parameters of metric m are no map
  detail: expected a map, found list []
  where:  x.yaml:4:7
error: "x" of metric m is .nan
  detail: expected a number, found number .nan
  where:  x.yaml:2:7
)");
}

TEST(Params, SaysWhenThereAreNoParametersAtAll) {
  Problems problems;
  const Node node = Map({{"x", Node::Int(1)}});
  Params params(node, "metric m", problems);
  params.Finish();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].hint, "metric m has no parameters");
}

TEST(Params, CallsThemWhatItIsTold) {
  Problems problems;
  const Node node = Map({{"x", Node::Int(1)}});
  Params params(node, "manifest m", problems, "field");
  params.Finish();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "unknown field \"x\" of manifest m");
  EXPECT_EQ(problems[0].hint, "manifest m has no fields");
}

}  // namespace
}  // namespace slipway::recipe
