#include "trainer/recipe/diff.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Node Parsed(const std::string& text) {
  Problems problems;
  std::optional<Node> node = ParseYaml(text, "new.yaml", problems);
  EXPECT_TRUE(node.has_value()) << FormatProblems(problems);
  return node.value_or(Node());
}

std::vector<std::string> Lines(const std::string& before,
                               const std::string& after) {
  std::vector<std::string> lines;
  for (const Change& change : CompareNodes(Parsed(before), Parsed(after))) {
    lines.push_back(FormatChange(change));
  }
  return lines;
}

TEST(CompareNodes, FindsNothingInWhatIsEqual) {
  EXPECT_THAT(
      Lines("a: {b: 1, c: [1, 2]}\nd: x\n", "d: x\na: {c: [1, 2], b: 1}\n"),
      IsEmpty());
}

TEST(CompareNodes, TellsEachKeyWithBothValuesAndThePlaceOfTheNewOne) {
  EXPECT_THAT(Lines("lr: 0.1\nopt: {m: 0.9, n: true}\nold: 1\n",
                    "lr: 0.01\nopt:\n  m: 0.9\n  n: false\nnew: [1]\n"),
              ElementsAre("lr: 0.1 -> 0.01 (new.yaml:1:5)",
                          "opt.n: true -> false (new.yaml:4:6)",
                          "new: (nothing) -> [1] (new.yaml:5:6)",
                          "old: 1 -> (nothing)"));
}

TEST(CompareNodes, TakesListsAndKindsAsAWhole) {
  EXPECT_THAT(
      Lines("a: [1, 2]\nb: {c: 1}\nd: 1\n", "a: [1, 3]\nb: 2\nd: 1.0\n"),
      ElementsAre("a: [1, 2] -> [1, 3] (new.yaml:1:4)",
                  "b: {c: 1} -> 2 (new.yaml:2:4)",
                  "d: 1 -> 1.0 (new.yaml:3:4)"));
}

TEST(CompareNodes, IsToldToProgramsToo) {
  const std::vector<Change> changes =
      CompareNodes(Parsed("a: 1\nb: 2\n"), Parsed("a: 3\n"));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(ToJson(changes[0]).dump(),
            R"({"key":"a","before":1,"after":3,"where":"new.yaml:1:4"})");
  EXPECT_EQ(ToJson(changes[1]).dump(),
            R"({"key":"b","before":2,"after":null,"where":null})");
}

}  // namespace
}  // namespace slipway::recipe
