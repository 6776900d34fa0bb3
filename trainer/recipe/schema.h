// What a recipe may say: its keys, their types and ranges.
//
//   SchemaOptions options{.variables = composed.variables,
//                         .plugin_keys = manifest.KnownRecipeKeys()};
//   CheckSchema(composed.recipe, options, problems);
//
// The schema is SuperGradients', with Slipway's own keys beside it; all of it
// is one table (schema_table.h), which also says what nothing honours yet. Pure
// functions, safe from any thread.
#ifndef SLIPWAY_TRAINER_RECIPE_SCHEMA_H_
#define SLIPWAY_TRAINER_RECIPE_SCHEMA_H_

#include <set>
#include <string>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::recipe {

struct SchemaOptions {
  // Paths that the recipe's interpolations refer to: a key that one of them
  // names, or leads through, is a variable of the recipe's own.
  std::set<std::string> variables = {};
  // Full names of the keys that plugins know: "training_hyperparams.swa". The
  // maps that lead to them are known with them.
  std::vector<std::string> plugin_keys = {};
  // Unknown keys are warnings instead of errors.
  bool allow_unknown = false;
};

// Checks a recipe that is composed and whose calls are values (targets.h), and
// appends, sorted by place:
//   errors    an unknown key (with the nearest, or where it belongs), a value
//   of
//             a wrong type or range, a mandatory value that is still open
//             (???), and a key that nothing honours yet at another value than
//             its default;
//   notes     keys that SuperGradients' own recipes have and nothing reads; and
//             what nothing honours yet, at its default: at the end, as one
//             note, but for keys whose default promises something.
// Null is no value: any key may have it. What models, data sets, losses and
// plugins take as parameters is left to them.
void CheckSchema(const Node& recipe, const SchemaOptions& options,
                 Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_SCHEMA_H_
