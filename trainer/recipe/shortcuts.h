// Short names for the values that are changed most often.
//
//   lr             training_hyperparams.initial_lr
//   batch_size     dataset_params.train_dataloader_params.batch_size
//   val_batch_size dataset_params.val_dataloader_params.batch_size
//   epochs         training_hyperparams.max_epochs
//   ema            training_hyperparams.ema
//   resume         training_hyperparams.resume
//   num_workers    num_workers of both data loaders
//
// So `lr=0.01 epochs=3` on the command line, or at the top of a recipe, changes
// the long keys. Functions only; as SuperGradients' RecipeShortcutsCallback.
#ifndef SLIPWAY_TRAINER_RECIPE_SHORTCUTS_H_
#define SLIPWAY_TRAINER_RECIPE_SHORTCUTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/node.h"

namespace slipway::recipe {

// The short names, in the order above.
const std::vector<std::string>& Shortcuts();

bool IsShortcut(std::string_view key);

// Sets the long keys of each shortcut that is not null, with the shortcut's
// place and order, also where both are given. Maps that hold long keys are
// created where needed. For a recipe whose interpolations are still open, so
// that they see the new values.
void ApplyShortcuts(Node& recipe);

// Gives each shortcut that stands in the recipe as null the value of its
// (first) long key, so that it reads the same both ways.
void FillShortcuts(Node& recipe);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_SHORTCUTS_H_
