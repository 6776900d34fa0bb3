#include "trainer/recipe/search.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/recipe/test_folder.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Search : public testing::Test {
 protected:
  Search() : first_("search_first"), second_("search_second") {
    first_.Write("a.yaml", "# First line.\n# Second line.\nx: 1\n");
    first_.Write("group/one.yaml", "x: 1\n");
    first_.Write("notes.txt", "no recipe\n");
    second_.Write("a.yaml", "# Hidden by the first folder.\n");
    second_.Write("b.yaml", "\n#\n#   Indented text  \nx: 1\n");
    second_.Write("c.yaml", "x: 1\n# too late\n");
    second_.Write("group/two.yaml", "x: 1\n");
  }

  SearchPath path() const {
    return SearchPath({first_.path(), second_.path()});
  }

  TestFolder first_;
  TestFolder second_;
};

TEST_F(Search, FindsTheFirstFolderThatHasAName) {
  EXPECT_EQ(path().Find("a"), first_.path() + "/a.yaml");
  EXPECT_EQ(path().Find("b.yaml"), second_.path() + "/b.yaml");
  EXPECT_EQ(path().Find("group/two"), second_.path() + "/group/two.yaml");
  EXPECT_EQ(path().Find("group"), std::nullopt);
  EXPECT_EQ(path().Find("notes.txt"), std::nullopt);
  EXPECT_EQ(SearchPath({}).Find("a"), std::nullopt);
}

TEST_F(Search, KnowsGroupsAndNames) {
  EXPECT_TRUE(path().HasGroup("group"));
  EXPECT_FALSE(path().HasGroup("a"));
  EXPECT_THAT(path().Names(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(path().Names("group"), ElementsAre("one", "two"));
  EXPECT_THAT(path().Names("absent"), IsEmpty());
}

TEST_F(Search, SaysWhereItSearchedAndWhatIsNear) {
  const Problem misspelt =
      path().NotFound("group/twoo", "group", {{"r.yaml", 3, 5}});
  EXPECT_EQ(FormatProblem(misspelt),
            "error: no group \"twoo\"\n"
            "  detail: searched for group/twoo.yaml in " +
                first_.path() + ", " + second_.path() +
                "\n"
                "  where:  r.yaml:3:5\n"
                "  hint:   did you mean \"two\"?\n");
  EXPECT_EQ(path().NotFound("zzzzz", "recipe", {}).hint, "known are a, b, c");
  EXPECT_EQ(SearchPath({}).NotFound("a", "recipe", {}).detail,
            "no folders to search were given");
}

TEST_F(Search, ListsRecipesWithTheirFirstLine) {
  std::vector<std::string> lines;
  for (const RecipeSummary& recipe : ListRecipes(path())) {
    lines.push_back(recipe.name + ": " + recipe.line);
  }
  EXPECT_THAT(lines, ElementsAre("a: First line.", "b: Indented text", "c: "));
  EXPECT_EQ(ListRecipes(path())[0].file, first_.path() + "/a.yaml");
}

}  // namespace
}  // namespace slipway::recipe
