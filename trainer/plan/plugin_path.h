// Where a recipe itself looks for plugins: its list `plugins.path`.
#ifndef SLIPWAY_TRAINER_PLAN_PLUGIN_PATH_H_
#define SLIPWAY_TRAINER_PLAN_PLUGIN_PATH_H_

#include <string>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// The folders, in order; one alone may stand without a list. A relative one is
// meant from the folder of the file that it is written in or, if it comes from
// the command line, as it stands. What is no text is an error. Pure; asks no
// file system.
std::vector<std::string> PluginPathOf(const recipe::Node& recipe,
                                      Problems& problems);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLUGIN_PATH_H_
