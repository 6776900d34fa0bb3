// The plugins that a recipe can have, before any of their code is loaded.
//
//   PluginManifests plugins = FindPlugins(composed->recipe, folders, problems);
//   CheckRecipe(*composed, plugins, /*allow_unknown=*/false, problems);
//
// What trainer and launcher do to a recipe before they plan with it. No
// LibTorch. Reads files; holds no state.
#ifndef SLIPWAY_TRAINER_FIND_PLUGINS_H_
#define SLIPWAY_TRAINER_FIND_PLUGINS_H_

#include <string>
#include <vector>

#include "trainer/plan/manifest.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// The plugins that can be found.
struct PluginManifests {
  std::vector<plan::Manifest> manifests;
  std::vector<std::string> folders;  // that were searched, in order
};

// Those in `folders`, then those in the recipe's own `plugins.path`.
PluginManifests FindPlugins(const recipe::Node& recipe,
                            std::vector<std::string> folders,
                            Problems& problems);

// recipe::CheckRecipe with the keys that the plugins know.
bool CheckRecipe(recipe::Composed& composed, const PluginManifests& plugins,
                 bool allow_unknown, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_FIND_PLUGINS_H_
