#include "trainer/recipe_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using testing::ElementsAre;

TEST(RecipeRequest, SearchesTheUsersFoldersFirst) {
  Flags flags;
  flags.recipe = "mine";
  flags.recipe_path = {"a", "b"};
  flags.overrides = {"epochs=3"};
  Locations here;
  here.recipe_folders = {"installed"};
  const recipe::Request request = RecipeRequest(flags, here);
  EXPECT_EQ(request.recipe, "mine");
  EXPECT_THAT(request.recipe_path, ElementsAre("a", "b", "installed"));
  EXPECT_THAT(request.overrides, ElementsAre("epochs=3"));
}

TEST(FolderRequest, TakesTheRecipesNameWhereItSaysNothing) {
  recipe::Composed composed;
  composed.name = "digits";
  composed.recipe = recipe::Node::Map();
  RunFolderRequest request = FolderRequest({}, composed);
  EXPECT_EQ(request.ckpt_root_dir, "checkpoints");
  EXPECT_EQ(request.experiment_name, "digits");

  composed.recipe.Set("ckpt_root_dir", recipe::Node::String("/data"));
  composed.recipe.Set("experiment_name", recipe::Node::String("mine"));
  Flags flags;
  flags.run_dir = "here";
  request = FolderRequest(flags, composed);
  EXPECT_EQ(request.run_dir, "here");
  EXPECT_EQ(request.ckpt_root_dir, "/data");
  EXPECT_EQ(request.experiment_name, "mine");
}

}  // namespace
}  // namespace slipway
