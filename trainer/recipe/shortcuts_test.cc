#include "trainer/recipe/shortcuts.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using ::testing::ElementsAre;

Node Parsed(const std::string& text) {
  Problems problems;
  const auto node = ParseYaml(text, "x.yaml", problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return node.value_or(Node());
}

constexpr char kRecipe[] =
    "lr:\n"
    "batch_size: 8\n"
    "epochs: 3\n"
    "ema: true\n"
    "num_workers: 2\n"
    "training_hyperparams: {initial_lr: 0.1, max_epochs: 100, ema: false}\n"
    "dataset_params:\n"
    "  train_dataloader_params: {batch_size: 64, num_workers: 4}\n"
    "  val_dataloader_params: {batch_size: 128, num_workers: 4}\n";

TEST(Shortcuts, AreSeven) {
  EXPECT_THAT(Shortcuts(),
              ElementsAre("lr", "batch_size", "val_batch_size", "epochs", "ema",
                          "resume", "num_workers"));
  EXPECT_TRUE(IsShortcut("lr"));
  EXPECT_FALSE(IsShortcut("seed"));
}

TEST(Shortcuts, SetTheirLongKeys) {
  Node recipe = Parsed(kRecipe);
  ApplyShortcuts(recipe);
  EXPECT_EQ(recipe.Find("training_hyperparams")->ToJson().dump(),
            R"({"initial_lr":0.1,"max_epochs":3,"ema":true})");
  EXPECT_EQ(recipe.Find("dataset_params")->ToJson().dump(),
            R"({"train_dataloader_params":{"batch_size":8,"num_workers":2},)"
            R"("val_dataloader_params":{"batch_size":128,"num_workers":2}})");
}

TEST(Shortcuts, GiveTheirPlaceAndOrder) {
  Node recipe = Parsed(kRecipe);
  recipe.Find("ema")->set_order(5);
  ApplyShortcuts(recipe);
  const Node* ema = recipe.FindPath("training_hyperparams.ema");
  EXPECT_EQ(ema->order(), 5);
  EXPECT_EQ(ToString(ema->mark()), "x.yaml:4:6");
}

TEST(Shortcuts, CreateTheMapsTheyNeed) {
  Node recipe = Parsed("lr: 0.5\nval_batch_size: 4\ntraining_hyperparams:\n");
  ApplyShortcuts(recipe);
  EXPECT_EQ(recipe.FindPath("training_hyperparams.initial_lr")->AsDouble(),
            0.5);
  EXPECT_EQ(recipe.FindPath("dataset_params.val_dataloader_params.batch_size")
                ->AsInt(),
            4);
}

TEST(Shortcuts, LeaveWhatIsNoMapToTheSchema) {
  Node recipe = Parsed(
      "lr: 0.5\nbatch_size: 1\ndataset_params: x\n"
      "training_hyperparams: [1]\n");
  const Node before = recipe;
  ApplyShortcuts(recipe);
  EXPECT_EQ(recipe, before);
}

TEST(Shortcuts, AreFilledInOnlyWhereTheyStandAsNull) {
  Node recipe = Parsed(
      "lr:\nepochs: 5\nresume:\n"
      "training_hyperparams: {initial_lr: 0.1, max_epochs: 100, ema: true}\n");
  FillShortcuts(recipe);
  EXPECT_EQ(recipe.Find("lr")->AsDouble(), 0.1);
  EXPECT_EQ(recipe.Find("epochs")->AsInt(), 5);
  EXPECT_TRUE(recipe.Find("resume")->is_null());
  EXPECT_EQ(recipe.Find("ema"), nullptr);
}

}  // namespace
}  // namespace slipway::recipe
