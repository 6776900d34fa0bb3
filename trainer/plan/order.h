// In which order the plugins of a plan are called.
#ifndef SLIPWAY_TRAINER_PLAN_ORDER_H_
#define SLIPWAY_TRAINER_PLAN_ORDER_H_

#include <map>
#include <string>
#include <vector>

namespace slipway::plan {

struct Draft;

// The ids of the draft's plugins for each hook that any of them has. One order,
// the load order changed no more than `before` and `after` demand, serves all
// hooks; those that close what others open run in reverse. Each cycle of
// demands is an error that names them all.
std::map<std::string, std::vector<std::string>> OrderHooks(Draft& draft);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_ORDER_H_
