// The schedules that a recipe's `lr_mode` names.
//
//   std::unique_ptr<Schedule> cosine = optim::CosineSchedule(0.01);
//   double rate = cosine->Rate(0.1, place);
//
// Formulas and names are SuperGradients'. Below, l is the group's initial_lr, s
// the place's position since warm-up ended and T the schedule's length, both in
// what the plan counts; e is the epoch. All are immutable values.
#ifndef SLIPWAY_PLUGINS_OPTIM_SCHEDULES_H_
#define SLIPWAY_PLUGINS_OPTIM_SCHEDULES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/plugin/schedule.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::optim {

// From l down to nearly l * r along half a cosine:
//   l * (r + (1 - r) * (1 + cos(pi * s / (T + 1))) / 2)
std::unique_ptr<Schedule> CosineSchedule(double final_ratio);

// Down to nearly 0: l * (1 - s / T)^0.9.
std::unique_ptr<Schedule> PolySchedule();

// By `factor` in every epoch, a little in every step: l * factor^(s / epoch).
std::unique_ptr<Schedule> ExponentialSchedule(double factor);

// l * factor^(number of `updates` <= e); epochs count from 0.
std::unique_ptr<Schedule> StepSchedule(std::vector<int64_t> updates,
                                       double factor);

// The same with updates at the epochs ceil(frequency * x), x = 1, 2, ..., that
// lie between warm-up and cooldown.
std::unique_ptr<Schedule> PeriodicStepSchedule(double frequency, double factor);

// From the keys of `recipe`'s training_hyperparams that each one reads:
// cosine_final_lr_ratio (0.01); none; lr_decay_factor; lr_decay_factor with
// lr_updates (epochs) or step_lr_update_freq (epochs, a fraction is allowed).
// Null if an error was appended.
std::unique_ptr<Schedule> ReadCosineSchedule(const recipe::Node& recipe,
                                             Problems& problems);
std::unique_ptr<Schedule> ReadExponentialSchedule(const recipe::Node& recipe,
                                                  Problems& problems);
std::unique_ptr<Schedule> ReadStepSchedule(const recipe::Node& recipe,
                                           Problems& problems);

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_SCHEDULES_H_
