// Composes a recipe from its files and the user's overrides.
//
//   Request request{.recipe = "digits_resnet",
//                   .recipe_path = {"recipes"},
//                   .overrides = {"training_hyperparams.max_epochs=3"}};
//   Problems problems;
//   std::optional<Composed> composed = Compose(request, problems);
//   if (!composed) std::cerr << FormatProblems(problems);
//
// Composition is Hydra's and OmegaConf's: the files of the defaults lists are
// laid over each other (defaults.h), then the overrides over them in their
// order (override.h), then shortcuts set what they stand for (shortcuts.h),
// then interpolations are replaced (interpolate.h). The section `hydra`, which
// configures Hydra itself, is dropped. What is mandatory but open stays "???";
// `_target_` maps stay maps (targets.h); nothing is checked against the schema
// (schema.h). recipe.h does all of it.
//
// Every value has the place where it was written and, as its order, the rank of
// its file or override in the composition, from 1. Reads files; holds no state.
#ifndef SLIPWAY_TRAINER_RECIPE_COMPOSE_H_
#define SLIPWAY_TRAINER_RECIPE_COMPOSE_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/resolvers.h"
#include "trainer/recipe/search.h"

namespace slipway::recipe {

struct Request {
  // A name, searched in `recipe_path`, or the path of a file that ends in
  // ".yaml" or ".yml", whose folder is then searched first for what it names.
  std::string recipe = {};
  // Folders with recipes and groups; the first that has a file wins.
  std::vector<std::string> recipe_path = {};
  // As the user wrote them, in order.
  std::vector<std::string> overrides = {};
  ResolverContext resolvers = {};
};

struct Composed {
  Node recipe;       // a map
  std::string name;  // of the recipe, without folder and ".yaml"
  std::string file;  // that holds it
  // The paths that interpolations refer to: a recipe may have variables of its
  // own, which the schema does not know.
  std::set<std::string> variables;
};

// Whether `recipe` is a file's path rather than a name.
bool IsRecipeFile(const std::string& recipe);

// The folders that are searched for `request`, in order.
SearchPath SearchPathOf(const Request& request);

// Composes. Finds as many problems as it can: all of the files and overrides,
// then, if there were none, all of the interpolations.
std::optional<Composed> Compose(const Request& request, Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_COMPOSE_H_
