// The learning rates that a training will have, for people and files.
//
//   for (const PlannedRates& group : PlanRates(trainer, steps)) ...
//
// Functions only.
#ifndef SLIPWAY_TRAINER_PLANNED_RATES_H_
#define SLIPWAY_TRAINER_PLANNED_RATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/loop/trainer.h"

namespace slipway {

// Of one parameter group. Those that differ in weight decay alone share name
// and rates, and are told once.
struct PlannedRates {
  std::string group;           // "default"
  std::vector<double> values;  // at each of the steps that were asked for
};

// The groups' rates at `steps`, which are optimizer steps from 0.
std::vector<PlannedRates> PlanRates(const loop::Trainer& trainer,
                                    const std::vector<int64_t>& steps);

// At most `most` of a training's `total` steps, evenly spread, the first and
// the last among them.
std::vector<int64_t> SpreadSteps(int64_t total, int64_t most);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLANNED_RATES_H_
