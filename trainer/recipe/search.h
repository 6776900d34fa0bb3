// Where recipes are found, and which there are.
//
//   SearchPath path({"recipes", "/opt/recipes"});
//   path.Find("digits_resnet")            // "recipes/digits_resnet.yaml"
//   path.Find("arch_params/resnet50")     // a file of a group
//
// A group is a folder of choices beside the recipes. Asks the file system;
// holds no state of its own.
#ifndef SLIPWAY_TRAINER_RECIPE_SEARCH_H_
#define SLIPWAY_TRAINER_RECIPE_SEARCH_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/problem.h"

namespace slipway::recipe {

class SearchPath {
 public:
  // Folders, the first of which that has a file wins.
  explicit SearchPath(std::vector<std::string> folders);

  const std::vector<std::string>& folders() const { return folders_; }

  // The path of the file that holds `name` ("recipe" or "group/choice", with or
  // without ".yaml").
  std::optional<std::string> Find(std::string_view name) const;

  // Whether any folder has a folder `name` in it.
  bool HasGroup(std::string_view name) const;

  // The names (without ".yaml") in `group`, or of the recipes themselves if
  // it is empty: sorted, each once.
  std::vector<std::string> Names(std::string_view group = "") const;

  // The problem of a name that is not found: which folders were searched, and
  // the nearest names. `what` says what it is: "recipe", "arch_params".
  Problem NotFound(std::string_view name, std::string_view what,
                   std::vector<Mark> where) const;

 private:
  std::vector<std::string> folders_;
};

struct RecipeSummary {
  std::string name;
  std::string file;
  // The first line of the file's first comment; may be empty.
  std::string line;
};

// The recipes that `path` finds, by name. Files that cannot be read have no
// line.
std::vector<RecipeSummary> ListRecipes(const SearchPath& path);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_SEARCH_H_
