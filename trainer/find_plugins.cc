#include "trainer/find_plugins.h"

#include <utility>

#include "trainer/plan/plugin_path.h"
#include "trainer/recipe/recipe.h"

namespace slipway {

PluginManifests FindPlugins(const recipe::Node& recipe,
                            std::vector<std::string> folders,
                            Problems& problems) {
  PluginManifests plugins;
  plugins.folders = std::move(folders);
  for (std::string& own : plan::PluginPathOf(recipe, problems)) {
    plugins.folders.push_back(std::move(own));
  }
  plugins.manifests = plan::DiscoverManifests(plugins.folders, problems);
  return plugins;
}

bool CheckRecipe(recipe::Composed& composed, const PluginManifests& plugins,
                 bool allow_unknown, Problems& problems) {
  recipe::SchemaOptions options;
  options.allow_unknown = allow_unknown;
  for (const plan::Manifest& manifest : plugins.manifests) {
    for (std::string& key : manifest.KnownRecipeKeys()) {
      options.plugin_keys.push_back(std::move(key));
    }
  }
  return recipe::CheckRecipe(composed, std::move(options), problems);
}

}  // namespace slipway
