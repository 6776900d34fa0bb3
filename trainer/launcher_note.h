// The trainer never starts processes: what to say where a recipe asks for some.
#ifndef SLIPWAY_TRAINER_LAUNCHER_NOTE_H_
#define SLIPWAY_TRAINER_LAUNCHER_NOTE_H_

#include <string>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// Appends a note with the launcher's command if `multi_gpu` and `num_gpus` of
// the recipe, called `name`, ask for more than one process.
void NoteLauncher(const recipe::Node& recipe, const std::string& name,
                  Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_LAUNCHER_NOTE_H_
