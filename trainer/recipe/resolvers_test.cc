#include "trainer/recipe/resolvers.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;

// Calls a resolver with a list of arguments in YAML.
std::string Call(const std::string& name, const std::string& arguments) {
  Problems problems;
  const Node list = *ParseYaml(arguments, "x", problems);
  ResolverContext context;
  context.roboflow_classes = {{"chess", 12}};
  const auto result = CallResolver(name, list.items(), context);
  if (result.ok()) return result->ToDisplay();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(Resolvers, AreThoseOfSuperGradients) {
  EXPECT_THAT(ResolverNames(),
              ElementsAre("add", "class", "cond", "div", "first", "getitem",
                          "hydra_output_dir", "last", "len", "mul",
                          "roboflow_dataset_num_classes"));
}

TEST(Resolvers, CalculateAsPythonDoes) {
  struct Case {
    const char* name;
    const char* arguments;
    const char* result;
  };
  const Case cases[] = {
      {"add", "[1, 2, 3]", "6"},
      {"add", "[1, 2.5]", "3.5"},
      {"add", "[7]", "7"},
      {"mul", "[3, 4, 5]", "60"},
      {"mul", "[2, 0.5]", "1.0"},
      {"div", "[4, 2]", "2.0"},
      {"div", "[3, 2.0]", "1.5"},
      {"cond", "[true, a, b]", "\"a\""},
      {"cond", "[0, a, b]", "\"b\""},
      {"cond", "['', a, b]", "\"b\""},
      {"cond", "[null, a, b]", "\"b\""},
      {"cond", "[[], a, b]", "\"b\""},
      {"cond", "[{x: 1}, a, b]", "\"a\""},
      {"cond", "[.nan, a, b]", "\"a\""},
      {"getitem", "[[a, b], 1]", "\"b\""},
      {"getitem", "[[a, b], -2]", "\"a\""},
      {"getitem", "[{k: v}, k]", "\"v\""},
      {"getitem", "[{1: v}, 1]", "\"v\""},
      {"first", "[[a, b]]", "\"a\""},
      {"last", "[[a, b]]", "\"b\""},
      {"len", "[[a, b]]", "2"},
      {"len", "[{a: 1}]", "1"},
      {"len", "[caf\xC3\xA9]", "4"},
      {"class", "[torch.nn.ReLU]", "\"torch.nn.ReLU\""},
      {"hydra_output_dir", "[runs, net]", "\"runs/net\""},
      {"hydra_output_dir", "[null, net]", "\"checkpoints/net\""},
      {"roboflow_dataset_num_classes", "[chess]", "12"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Call(c.name, c.arguments), c.result) << c.name << c.arguments;
  }
}

TEST(Resolvers, SayWhatTheyExpect) {
  struct Case {
    const char* name;
    const char* arguments;
    const char* message;
  };
  const Case cases[] = {
      {"add", "[]", "expected numbers"},
      {"add", "[a, 1]", "expected numbers"},
      {"add", "[9223372036854775807, 1]", "the result does not fit in 64 bits"},
      {"mul", "[9223372036854775807, 2]", "the result does not fit in 64 bits"},
      {"div", "[1]", "expected two numbers"},
      {"div", "[1, 0]", "expected a divisor other than 0"},
      {"cond", "[true, a]", "expected a condition and two values"},
      {"getitem", "[[a]]", "expected a list or map, and a key"},
      {"getitem", "[[a], 1]", "a list of 1 has no item 1"},
      {"getitem", "[[a], x]", "expected a list and a position, or a map"},
      {"getitem", "[{a: 1, b: 2}, c]", "there is no key \"c\" among a, b"},
      {"first", "[[]]", "a list of 0 has no item 0"},
      {"last", "[[]]", "a list of 0 has no item -1"},
      {"first", "[x]", "expected a list"},
      {"last", "[1]", "expected a list"},
      {"len", "[1]", "expected a list, map or text"},
      {"len", "[a, b]", "expected one list, map or text"},
      {"class", "[1]", "expected a name"},
      {"hydra_output_dir", "[a]", "expected a folder and a name"},
      {"roboflow_dataset_num_classes", "[]", "expected the name of a data set"},
      {"roboflow_dataset_num_classes", "[birds]",
       "the number of classes of \"birds\" is not known here; set the key to "
       "that number instead"},
      {"sub", "[1]",
       "there is no resolver \"sub\"; known are add, class, cond, div, first, "
       "getitem, hydra_output_dir, last, len, mul, "
       "roboflow_dataset_num_classes"},
  };
  for (const Case& c : cases) EXPECT_EQ(Call(c.name, c.arguments), c.message);
}

TEST(PythonText, IsWhatPythonPrints) {
  Problems problems;
  const Node node = *ParseYaml(
      "[1, 2.0, 1e-5, yes, ~, a, \"it's\", {k: [x]}, []]", "x", problems);
  EXPECT_EQ(PythonText(node),
            "[1, 2.0, 1e-05, True, None, 'a', \"it's\", {'k': ['x']}, []]");
  EXPECT_EQ(PythonText(Node::String("plain")), "plain");
}

}  // namespace
}  // namespace slipway::recipe
