// Warm-ups of the learning rate, as pure functions of the place.
//
//   std::unique_ptr<Warmup> warmup =
//       LinearEpochWarmup(5, {.all = 1e-6}, AutoLr{.world_size = 4});
//
// Names and formulas are SuperGradients' (LinearEpochLRWarmup,
// LinearBatchLRWarmup) and BigDL-Nano's (auto_lr). Below, l is a group's
// initial_lr and w0 the rate that warm-up starts from.
#ifndef SLIPWAY_PLUGINS_LR_WARMUP_WARMUPS_H_
#define SLIPWAY_PLUGINS_LR_WARMUP_WARMUPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "trainer/plugin/schedule.h"

namespace slipway::lr_warmup {

// w0: of each group by name, else `all` ("default" of the map), else the
// warm-up's own choice.
struct StartRates {
  std::optional<double> all = {};
  std::map<std::string, double, std::less<>> by_group = {};
};

// With P ranks a step sees P times the samples, and the learning rate grows
// with them. Every rate is multiplied by
//   1 + (P - 1) * min(x / W, 1)
// where x counts optimizer steps and W is 1000 under a schedule; without one, x
// counts epochs and W is a tenth of them (rounded down), or, in trainings of
// less than ten epochs, steps and a tenth of the steps.
struct AutoLr {
  int world_size = 1;
  bool has_schedule = true;

  double Factor(const SchedulePlace& place) const;
};

// No warm-up of its own: auto_lr alone.
std::unique_ptr<Warmup> NoWarmup(AutoLr auto_lr);

// w0 + e * (l - w0) / epochs in the epochs e = 0 .. epochs - 1; w0 is
// l / (epochs + 1) unless set.
std::unique_ptr<Warmup> LinearEpochWarmup(int64_t epochs, StartRates start,
                                          AutoLr auto_lr = {});

// From w0 in the first of `steps` steps to l in the last; where the training is
// shorter, in what it has. w0 is 0 unless set.
std::unique_ptr<Warmup> LinearBatchWarmup(int64_t steps, StartRates start,
                                          AutoLr auto_lr = {});

// `warmup`, for which schedules of SuperGradients' own behaviour wait as long
// as the recipe's lr_warmup_epochs and lr_warmup_steps say.
std::unique_ptr<Warmup> Awaited(std::unique_ptr<Warmup> warmup, int64_t epochs,
                                int64_t steps);

}  // namespace slipway::lr_warmup

#endif  // SLIPWAY_PLUGINS_LR_WARMUP_WARMUPS_H_
