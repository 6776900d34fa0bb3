#include "trainer/recipe_request.h"

#include <string>
#include <string_view>

namespace slipway {
namespace {

std::string TextAt(const recipe::Node& recipe, std::string_view key,
                   const std::string& fallback) {
  const recipe::Node* node = recipe.Find(key);
  return node != nullptr && node->is_string() ? node->AsString() : fallback;
}

}  // namespace

recipe::Request RecipeRequest(const Flags& flags, const Locations& here) {
  recipe::Request request;
  request.recipe = flags.recipe;
  request.recipe_path = flags.recipe_path;
  request.recipe_path.insert(request.recipe_path.end(),
                             here.recipe_folders.begin(),
                             here.recipe_folders.end());
  request.overrides = flags.overrides;
  return request;
}

RunFolderRequest FolderRequest(const Flags& flags,
                               const recipe::Composed& composed) {
  RunFolderRequest request;
  request.run_dir = flags.run_dir;
  request.ckpt_root_dir =
      TextAt(composed.recipe, "ckpt_root_dir", "checkpoints");
  request.experiment_name =
      TextAt(composed.recipe, "experiment_name", composed.name);
  return request;
}

std::string PlannedDevice(const recipe::Node& recipe, const std::string& flag,
                          const std::string& detected) {
  const std::string wanted =
      flag.empty() ? TextAt(recipe, "device", "auto") : flag;
  return wanted == "cpu" ? wanted : detected;
}

}  // namespace slipway
