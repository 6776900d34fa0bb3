#include "trainer/recipe/recipe.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/recipe/search.h"

namespace slipway::recipe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFolder[] = "trainer/recipe/testdata/messages";

struct Loaded {
  std::optional<Composed> recipe;
  Problems problems;
};

Loaded Load(const std::string& name, const std::string& folder,
            std::vector<std::string> overrides = {}) {
  Loaded loaded;
  loaded.recipe = LoadRecipe({.recipe = name,
                              .recipe_path = {folder},
                              .overrides = std::move(overrides)},
                             {}, loaded.problems);
  EXPECT_EQ(loaded.recipe.has_value(), !HasErrors(loaded.problems));
  return loaded;
}

TEST(LoadRecipe, LoadsWhatIsRight) {
  const Loaded loaded =
      Load("base", kFolder, {"training_hyperparams=long", "lr=0.5"});
  EXPECT_EQ(FormatProblems(loaded.problems), "");
  ASSERT_TRUE(loaded.recipe);
  const Node& recipe = loaded.recipe->recipe;
  EXPECT_EQ(recipe.FindPath("arch_params.num_classes")->AsInt(), 10);
  EXPECT_EQ(recipe.FindPath("arch_params.width")->AsInt(), 8);
  const Node& training = *recipe.Find("training_hyperparams");
  EXPECT_EQ(training.Find("max_epochs")->AsInt(), 300);
  EXPECT_EQ(training.Find("initial_lr")->AsDouble(), 0.5);
}

// Each recipe that is wrong, and each wrong command line, with all it gets.
TEST(LoadRecipe, TellsAllThatIsWrongAtOnce) {
  struct Case {
    std::string recipe;
    std::vector<std::string> overrides;
  };
  const std::vector<Case> cases = {
      {"misspelt_keys", {}},
      {"wrong_values", {}},
      {"not_honoured", {}},
      {"open_values", {}},
      {"open_in_text", {}},
      {"cycle_of_defaults", {}},
      {"cycle_of_values", {}},
      {"bad_interpolations", {}},
      {"missing_files", {}},
      {"not_yaml", {}},
      {"tab", {}},
      {"no_space", {}},
      {"bsae", {}},
      {"base.yml", {}},
      {"base",
       {"seed", "training_hyperparams.max_epochs=[1,", "arch_params={a:1}",
        "arch_params=tyni", "optimiser=x"}},
      {"base",
       {"seed", "architectre=x", "~classes.x", "+classes=3",
        "training_hyperparams.initial_lr.x=1", "arch_params.depth=3"}},
      {"base", {"datset_params.x=1", "plugin.ema.decay=1"}},
      {"base",
       {"epochs=many", "+training_hyperparams.mixed_precison=on",
        "+plugins.ema=0.9", "+device=tpu"}},
  };
  std::string messages;
  for (const Case& c : cases) {
    messages += "===== " + c.recipe;
    for (const std::string& text : c.overrides) messages += " '" + text + "'";
    messages +=
        "\n" + FormatProblems(Load(c.recipe, kFolder, c.overrides).problems);
  }
  ExpectGolden("trainer/recipe/testdata/messages.golden", messages);
}

TEST(LoadRecipe, FillsInShortcutsAndCalls) {
  const Loaded loaded = Load("base", kFolder,
                             {"+lr=null",
                              "+training_hyperparams.lr_updates="
                              "{_target_: numpy.arange, stop: 2}"});
  ASSERT_TRUE(loaded.recipe) << FormatProblems(loaded.problems);
  const Node& recipe = loaded.recipe->recipe;
  EXPECT_EQ(recipe.Find("lr")->AsDouble(), 0.1);
  EXPECT_EQ(recipe.FindPath("training_hyperparams.lr_updates.1")->AsInt(), 1);
}

// Where SuperGradients' recipes lie.
std::string SuperGradients() {
  const char* const file = std::getenv("CIFAR10_RESNET");
  return file == nullptr ? "" : fs::path(file).parent_path().string();
}

TEST(SuperGradients, HasNoKeyThatTheSchemaDoesNotKnow) {
  const auto recipes = ListRecipes(SearchPath({SuperGradients()}));
  ASSERT_GT(recipes.size(), 50u);
  for (const RecipeSummary& summary : recipes) {
    Problems problems;
    Request request;
    request.recipe = summary.name;
    request.recipe_path = {SuperGradients()};
    request.resolvers.roboflow_classes = {{"d", 7}};
    if (summary.name.starts_with("roboflow")) {
      request.overrides = {"dataset_name=d"};
    }
    LoadRecipe(request, {}, problems);
    for (const Problem& problem : problems) {
      EXPECT_THAT(problem.message, Not(HasSubstr("unknown key")))
          << summary.name;
    }
  }
}

TEST(SuperGradients, LoadsWithNotesOnly) {
  for (const char* name :
       {"cifar10_resnet", "imagenet_resnet50", "imagenet_repvgg",
        "cityscapes_stdc_seg75", "cityscapes_segformer_b5", "coco2017_yolox"}) {
    const Loaded loaded = Load(name, SuperGradients());
    EXPECT_TRUE(loaded.recipe) << FormatProblems(loaded.problems);
    EXPECT_TRUE(std::all_of(
        loaded.problems.begin(), loaded.problems.end(),
        [](const Problem& p) { return p.severity == Severity::kNote; }));
  }
}

TEST(SuperGradients, TakesItsShortcuts) {
  const Loaded loaded =
      Load("cifar10_resnet", SuperGradients(),
           {"lr=0.2", "batch_size=16", "epochs=2", "ema=True"});
  ASSERT_TRUE(loaded.recipe) << FormatProblems(loaded.problems);
  const Node& recipe = loaded.recipe->recipe;
  const Node& training = *recipe.Find("training_hyperparams");
  EXPECT_EQ(training.Find("initial_lr")->AsDouble(), 0.2);
  EXPECT_EQ(training.Find("max_epochs")->AsInt(), 2);
  EXPECT_TRUE(training.Find("ema")->AsBool());
  EXPECT_EQ(
      recipe.FindPath("dataset_params.train_dataloader_params.batch_size")
          ->AsInt(),
      16);
  EXPECT_EQ(recipe.Find("val_batch_size")->AsInt(), 512);
  EXPECT_EQ(training.FindPath("lr_updates.2")->AsInt(), 200);
}

}  // namespace
}  // namespace slipway::recipe
