#include "trainer/recipe/recipe.h"

#include <optional>
#include <utility>

#include "trainer/recipe/shortcuts.h"
#include "trainer/recipe/targets.h"

namespace slipway::recipe {

bool CheckRecipe(Composed& composed, SchemaOptions options,
                 Problems& problems) {
  Problems found;
  ResolveTargets(composed.recipe, found);
  FillShortcuts(composed.recipe);
  options.variables.insert(composed.variables.begin(),
                           composed.variables.end());
  CheckSchema(composed.recipe, options, found);
  problems.insert(problems.end(), found.begin(), found.end());
  return !HasErrors(found);
}

std::optional<Composed> LoadRecipe(const Request& request,
                                   const SchemaOptions& options,
                                   Problems& problems) {
  std::optional<Composed> composed = Compose(request, problems);
  if (composed && !CheckRecipe(*composed, options, problems)) composed.reset();
  return composed;
}

}  // namespace slipway::recipe
