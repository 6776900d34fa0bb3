// Learning rates as functions of the place in a training.
//
// The whole plan of learning rates is known before training starts
// (trainer/loop/lr_plan.h); it is made of these pure parts:
//
//   rate = warmup->Rate(group, initial_lr, place)    // while it is active
//   rate = schedule->Rate(initial_lr, place)         // Cosine, Poly, ...
//   rate *= warmup->Factor(place)                    // auto_lr
#ifndef SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_
#define SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway {

// A place in a training, in the terms of SuperGradients' formulas. What they
// call a batch is whatever the plan counts: an optimizer step, or a batch where
// steps do not fit epochs and in SuperGradients' own behaviour.
struct SchedulePlace {
  int64_t epoch = 0;  // from 0
  int64_t batch = 0;  // in the epoch, from 0
  int64_t batches_per_epoch = 1;
  int64_t max_epochs = 1;
  int64_t warmup_epochs = 0;  // of the warm-up that is active
  int64_t warmup_steps = 0;
  int64_t cooldown_epochs = 0;  // the last rate is kept that long
  int64_t accumulate = 1;       // batches per optimizer step

  // Batches since the training began, and since warm-up ended (below zero
  // before that).
  int64_t global_batch() const { return epoch * batches_per_epoch + batch; }
  int64_t position() const {
    return global_batch() - warmup_epochs * batches_per_epoch - warmup_steps;
  }
  // Batches from the end of warm-up to the beginning of cooldown: what
  // position() runs through.
  int64_t length() const {
    const int64_t epochs = max_epochs - warmup_epochs - cooldown_epochs;
    return epochs * batches_per_epoch - warmup_steps;
  }
};

// Immutable; safe from several threads.
class Schedule {
 public:
  virtual ~Schedule();
  // The rate of a group whose initial_lr is `initial_lr`, at `place`, which
  // lies after warm-up and before cooldown: 0 <= position() < length().
  virtual double Rate(double initial_lr, const SchedulePlace& place) const = 0;
  // True for schedules that change at epoch ends only (Step).
  virtual bool per_epoch() const { return false; }
  // True for schedules that wait for a warm-up in steps even in
  // SuperGradients' own behaviour (Cosine); there the others run beneath it.
  virtual bool always_waits_for_warmup() const { return false; }
};

// A warm-up before the schedule; held by whoever claims slot `lr_warmup`.
// Immutable; safe from several threads.
class Warmup {
 public:
  virtual ~Warmup();
  // How long it lasts: epochs or steps, one of them zero.
  virtual int64_t epochs() const = 0;
  virtual int64_t steps() const = 0;
  // What the schedules of SuperGradients' own behaviour wait for: both numbers
  // of the recipe, whichever counts.
  virtual int64_t awaited_epochs() const { return epochs(); }
  virtual int64_t awaited_steps() const { return steps(); }
  // The rate of the group that the recipe calls `group` at `place`, whose
  // warmup_steps are those that fit the training; nullopt once it is over.
  virtual std::optional<double> Rate(std::string_view group, double initial_lr,
                                     const SchedulePlace& place) const = 0;
  // What every rate at `place` is multiplied by, warm-up's and schedule's
  // alike.
  virtual double Factor(const SchedulePlace& place) const { return 1; }
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_SCHEDULE_H_
