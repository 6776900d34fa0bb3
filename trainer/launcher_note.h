// The trainer never starts processes: how many a recipe asks for, and what to
// say where it asks for several.
#ifndef SLIPWAY_TRAINER_LAUNCHER_NOTE_H_
#define SLIPWAY_TRAINER_LAUNCHER_NOTE_H_

#include <string>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// How many processes `multi_gpu` and `num_gpus` of the recipe ask for: 1 where
// they ask for none, 0 for one per device.
int ProcessesAskedFor(const recipe::Node& recipe);

// Appends a note with the launcher's command if `multi_gpu` and `num_gpus` of
// the recipe, called `name`, ask for more than one process.
void NoteLauncher(const recipe::Node& recipe, const std::string& name,
                  Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_LAUNCHER_NOTE_H_
