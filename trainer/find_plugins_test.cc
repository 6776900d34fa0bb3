#include "trainer/find_plugins.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway {
namespace {

using testing::HasSubstr;

constexpr char kManifest[] = R"(
schema: 1
id: com.acme.smooth
version: 1.0.0
api: "^1.0"
library: libcom_acme_smooth.so
summary: Smooths.
license: Apache-2.0
status: stable
hooks: [AfterLoss]
config:
  strength: {type: float, default: 0.5, help: how much}
recipe_keys:
  - {key: training_hyperparams.smooth, enables: true}
)";

// A folder with that manifest.
std::string PluginFolder() {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "smooth";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "plugin.yaml") << kManifest;
  return folder;
}

recipe::Composed RecipeOf(const std::string& text) {
  Problems problems;
  recipe::Composed composed;
  composed.recipe = *recipe::ParseYaml(text, "recipe.yaml", problems);
  return composed;
}

TEST(FindPlugins, SearchesTheRecipesOwnFoldersToo) {
  Problems problems;
  const recipe::Composed composed =
      RecipeOf("plugins: {path: [" + PluginFolder() + "]}\n");
  const PluginManifests plugins =
      FindPlugins(composed.recipe, /*folders=*/{}, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  ASSERT_EQ(plugins.manifests.size(), 1u);
  EXPECT_EQ(plugins.manifests[0].id, "com.acme.smooth");
  EXPECT_THAT(plugins.folders, testing::ElementsAre(PluginFolder()));
}

TEST(CheckRecipe, KnowsTheKeysOfPlugins) {
  const std::string text = "training_hyperparams: {smooth: true}\n";
  Problems problems;
  recipe::Composed composed = RecipeOf(text);
  const PluginManifests found =
      FindPlugins(composed.recipe, {PluginFolder()}, problems);
  EXPECT_TRUE(CheckRecipe(composed, found, false, problems));
  EXPECT_EQ(FormatProblems(problems), "");

  composed = RecipeOf(text);
  EXPECT_FALSE(CheckRecipe(composed, {}, false, problems));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("smooth"));
}

}  // namespace
}  // namespace slipway
