#include "trainer/recipe/compose.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/recipe/defaults.h"
#include "trainer/recipe/interpolate.h"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/override.h"
#include "trainer/recipe/shortcuts.h"

namespace slipway::recipe {
namespace {

namespace fs = std::filesystem;

struct Overrides {
  std::vector<Override> choices;  // of files for groups
  std::vector<Override> changes;  // of values
};

// A word given for what is a folder beside the recipes chooses a file in it.
bool IsChoice(const Override& change, const SearchPath& path) {
  if (change.path.find('.') != change.path.npos) return false;
  if (change.value && !change.value->is_string() && !change.value->is_null()) {
    return false;
  }
  return path.HasGroup(change.path);
}

Overrides ParseOverrides(const std::vector<std::string>& texts,
                         const SearchPath& path, Problems& problems) {
  Overrides overrides;
  int number = 0;
  for (const std::string& text : texts) {
    std::optional<Override> change = ParseOverride(text, ++number, problems);
    if (!change) continue;
    auto& list =
        IsChoice(*change, path) ? overrides.choices : overrides.changes;
    list.push_back(*std::move(change));
  }
  return overrides;
}

std::optional<std::string> FindFile(const Request& request,
                                    const SearchPath& path,
                                    Problems& problems) {
  if (IsRecipeFile(request.recipe)) return request.recipe;
  std::optional<std::string> file = path.Find(request.recipe);
  if (!file) problems.push_back(path.NotFound(request.recipe, "recipe", {}));
  return file;
}

// Puts what a file says under the keys of its group.
Node Wrapped(Layer layer) {
  Node node = std::move(layer.content);
  for (auto key = layer.package.rbegin(); key != layer.package.rend(); ++key) {
    Node outer = Node::Map(node.mark());
    const Mark mark = node.mark();
    outer.Set(*key, std::move(node), mark);
    node = std::move(outer);
  }
  return node;
}

Node LayOver(std::vector<Layer> layers, const std::vector<Override>& changes,
             Problems& problems) {
  Node root = Node::Map();
  int order = 0;
  for (Layer& layer : layers) {
    Node node = Wrapped(std::move(layer));
    SetOrder(++order, node);
    Merge(std::move(node), root);
  }
  for (const Override& change : changes) {
    ApplyOverride(change, ++order, root, problems);
  }
  return root;
}

// The recipe before interpolation. Overrides are applied only to one whose
// files are all there: else each would miss what it changes.
std::optional<Node> Layered(const Request& request, const SearchPath& path,
                            const Overrides& overrides, Problems& problems) {
  Problems found;
  const std::optional<std::string> file = FindFile(request, path, found);
  std::vector<Layer> layers;
  if (file) layers = LoadLayers(*file, path, overrides.choices, found);
  std::optional<Node> root;
  if (!HasErrors(found)) {
    root = LayOver(std::move(layers), overrides.changes, found);
    root->Erase("hydra");
    ApplyShortcuts(*root);
  }
  problems.insert(problems.end(), found.begin(), found.end());
  return root;
}

std::optional<Composed> Interpolated(const Node& root, const Request& request,
                                     Problems& problems) {
  Composed composed;
  std::optional<Node> recipe =
      Interpolate(root, request.resolvers, problems, &composed.variables);
  if (!recipe) return std::nullopt;
  composed.recipe = *std::move(recipe);
  return composed;
}

}  // namespace

bool IsRecipeFile(const std::string& recipe) {
  return recipe.ends_with(".yaml") || recipe.ends_with(".yml");
}

SearchPath SearchPathOf(const Request& request) {
  std::vector<std::string> folders;
  if (IsRecipeFile(request.recipe)) {
    const std::string folder = fs::path(request.recipe).parent_path().string();
    folders.push_back(folder.empty() ? "." : folder);
  }
  for (const std::string& folder : request.recipe_path) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  }
  return SearchPath(std::move(folders));
}

std::optional<Composed> Compose(const Request& request, Problems& problems) {
  Problems found;
  const SearchPath path = SearchPathOf(request);
  const Overrides overrides = ParseOverrides(request.overrides, path, found);
  const std::optional<Node> root = Layered(request, path, overrides, found);
  std::optional<Composed> composed;
  if (root && !HasErrors(found)) {
    composed = Interpolated(*root, request, found);
  }
  if (composed) {
    composed->file = *FindFile(request, path, found);
    composed->name = fs::path(composed->file).stem().string();
  }
  problems.insert(problems.end(), found.begin(), found.end());
  return composed;
}

}  // namespace slipway::recipe
