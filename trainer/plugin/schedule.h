// Learning rates as functions of the place in a training.
//
// The whole plan of learning rates is computed before training starts
// (trainer/loop/lr_plan.h), from these pure parts:
//
//   rate = schedule->Rate(initial_lr, place)         // Cosine, Poly, ...
//   rate = warmup->Rate(initial_lr, place)           // while it is active
#ifndef SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_
#define SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_

#include <cstdint>
#include <optional>

namespace slipway {

// A place in a training, in the units of SuperGradients' formulas.
struct SchedulePlace {
  int64_t epoch = 0;             // from 0
  int64_t batch = 0;             // in the epoch, from 0
  int64_t batches_per_epoch = 1;
  int64_t max_epochs = 1;
  int64_t warmup_epochs = 0;     // of the warm-up that is active
  int64_t warmup_steps = 0;
  int64_t cooldown_epochs = 0;   // the last rate is kept that long
  int64_t accumulate = 1;        // batches per optimizer step
};

// Immutable; safe from several threads.
class Schedule {
 public:
  virtual ~Schedule();
  // The rate of a group whose initial_lr is `initial_lr`, at `place`, which
  // lies after warm-up and before cooldown.
  virtual double Rate(double initial_lr, const SchedulePlace& place) const = 0;
  // True for schedules that change at epoch ends only (Step).
  virtual bool per_epoch() const { return false; }
};

// A warm-up before the schedule; held by whoever claims slot `lr_warmup`.
class Warmup {
 public:
  virtual ~Warmup();
  // How long it lasts: epochs or batches, one of them zero.
  virtual int64_t epochs() const = 0;
  virtual int64_t steps() const = 0;
  // The rate at `place`; nullopt once it is over.
  virtual std::optional<double> Rate(double initial_lr,
                                     const SchedulePlace& place) const = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_
