// What a training would do, without doing it.
//
//   std::cout << DryRunText(recipe, *prepared);
//
// Functions only.
#ifndef SLIPWAY_TRAINER_DRY_RUN_H_
#define SLIPWAY_TRAINER_DRY_RUN_H_

#include <string>

#include "nlohmann/json.hpp"
#include "trainer/prepare.h"
#include "trainer/recipe/node.h"

namespace slipway {

// The contracts' document: {schema, recipe, plan, lr, model, steps_per_epoch,
// epochs}, with the rate of each parameter group at every optimizer step.
nlohmann::ordered_json DryRunJson(const recipe::Node& recipe,
                                  const Prepared& prepared);

// For people: the recipe, the plan, the model, and rates at a dozen steps.
std::string DryRunText(const recipe::Node& recipe, const Prepared& prepared);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_DRY_RUN_H_
