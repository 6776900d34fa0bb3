// What a training would do, without doing it.
//
//   std::cout << DryRunText(recipe, *prepared);
//
// Functions only.
#ifndef SLIPWAY_TRAINER_DRY_RUN_H_
#define SLIPWAY_TRAINER_DRY_RUN_H_

#include <string>

#include "nlohmann/json.hpp"
#include "trainer/loop/memory_plan.h"
#include "trainer/prepare.h"
#include "trainer/recipe/node.h"

namespace slipway {

// The contracts' document: {schema, recipe, plan, lr, model, steps_per_epoch,
// epochs, memory}, with the rate of each parameter group at every optimizer
// step. `memory` is what Trainer::MeasureMemory has found (memory_plan.h); null
// if it failed.
nlohmann::ordered_json DryRunJson(const recipe::Node& recipe,
                                  const Prepared& prepared,
                                  const loop::MemoryPlan* memory);

// For people: the recipe, the plan, the model, rates at a dozen steps, memory.
std::string DryRunText(const recipe::Node& recipe, const Prepared& prepared,
                       const loop::MemoryPlan* memory);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_DRY_RUN_H_
