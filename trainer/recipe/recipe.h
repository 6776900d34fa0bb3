// A recipe, ready to be planned and run.
//
//   Problems problems;
//   std::optional<Composed> recipe = LoadRecipe(
//       {.recipe = "digits_resnet", .recipe_path = {"recipes"}}, {}, problems);
//   std::cerr << FormatProblems(problems);
//   if (!recipe) return 2;
//   Use(recipe->recipe.FindPath("training_hyperparams.max_epochs"));
//
// LoadRecipe is Compose (compose.h), then CheckRecipe, which a caller that must
// look into the recipe for the plugins' keys first calls by itself. Functions
// only.
#ifndef SLIPWAY_TRAINER_RECIPE_RECIPE_H_
#define SLIPWAY_TRAINER_RECIPE_RECIPE_H_

#include <optional>

#include "trainer/recipe/compose.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/schema.h"

namespace slipway::recipe {

// Replaces the calls in a composed recipe by their values (targets.h), fills in
// shortcuts (shortcuts.h) and checks it against the schema; its variables are
// known beside those in `options`. False if there was an error.
bool CheckRecipe(Composed& composed, SchemaOptions options, Problems& problems);

// Composes and checks.
std::optional<Composed> LoadRecipe(const Request& request,
                                   const SchemaOptions& options,
                                   Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_RECIPE_H_
