#include "trainer/plan/plugin_path.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> PathOf(const std::string& file,
                                const std::string& text) {
  Problems problems;
  const std::vector<std::string> folders =
      PluginPathOf(Compose({{file, text}}), problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return folders;
}

TEST(PluginPathOf, StartsFromTheRecipesFolder) {
  EXPECT_THAT(PathOf("my/recipes/x.yaml",
                     "plugins: {path: [../plugins, /opt/p, here]}"),
              ElementsAre("my/plugins", "/opt/p", "my/recipes/here"));
  EXPECT_THAT(PathOf("x.yaml", "plugins: {path: p}"), ElementsAre("p"));
}

TEST(PluginPathOf, LeavesTheCommandLinesAsTheyStand) {
  EXPECT_THAT(PathOf("command line", "plugins: {path: [p]}"), ElementsAre("p"));
}

TEST(PluginPathOf, IsEmptyWhereNothingIsSaid) {
  EXPECT_THAT(PathOf("x.yaml", "{}"), IsEmpty());
  EXPECT_THAT(PathOf("x.yaml", "plugins: {path: null}"), IsEmpty());
}

TEST(PluginPathOf, RefusesWhatIsNoFolder) {
  Problems problems;
  PluginPathOf(MakeRecipe("plugins: {path: [3, \"\", p]}"), problems);
  EXPECT_EQ(FormatProblems(problems), R"(error: plugins.path has 3
  detail: expected a folder with plugins
  where:  recipe.yaml:1:18
error: plugins.path has ""
  detail: expected a folder with plugins
  where:  recipe.yaml:1:21
)");
}

}  // namespace
}  // namespace slipway::plan
