// What a trainer's command line asks of recipe composition, and of the folder
// for its files.
//
//   const recipe::Request request = RecipeRequest(flags, here);
//   std::optional<recipe::Composed> composed = recipe::Compose(request, ...);
//   const RunFolderRequest folder = FolderRequest(flags, *composed);
//
// The launcher asks the same, before it starts any trainer. Pure functions.
#ifndef SLIPWAY_TRAINER_RECIPE_REQUEST_H_
#define SLIPWAY_TRAINER_RECIPE_REQUEST_H_

#include <string>

#include "trainer/flags.h"
#include "trainer/locations.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/node.h"
#include "trainer/run_folder.h"

namespace slipway {

// Searches the folders of --recipe_path before those that lie `here`.
recipe::Request RecipeRequest(const Flags& flags, const Locations& here);

// --run_dir, or a new folder beneath the recipe's `ckpt_root_dir` (by default
// "checkpoints") and `experiment_name` (by default the recipe's name).
RunFolderRequest FolderRequest(const Flags& flags,
                               const recipe::Composed& composed);

// "cpu" or "cuda", as the trainer will choose: what `flag` says, else the
// recipe's `device`; `detected` (plan::DetectEnvironment) unless that is "cpu".
std::string PlannedDevice(const recipe::Node& recipe, const std::string& flag,
                          const std::string& detected);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RECIPE_REQUEST_H_
