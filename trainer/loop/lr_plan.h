// The learning rate of every group at every optimizer step, known before the
// training starts.
//
//   LrPlan plan({.max_epochs = 90, .batches_per_epoch = 5004}, schedule,
//               warmup, {{"default", 0.1}});
//   optimizer.Step(plan.At(step));              // step = optimizer steps taken
//   for (int64_t i = 0; i < plan.total_steps(); ++i) Print(plan.At(i));
//
// At() is a pure function of the number of optimizer steps taken so far, so a
// skipped step moves no rate and a resumed training needs no state of its
// schedule. It costs one formula per group, however long the training is.
//
// Order of a training: warm-up, schedule, cooldown. The first step after
// warm-up runs at initial_lr; cooldown keeps the rate of the last step before
// it. Step k of a schedule has the value of the schedule at k. Everything
// counts optimizer steps: warmup_steps too, whatever `accumulate` is, so that
// four batches of 64 follow the plan of one batch of 256. A warm-up in steps
// may be longer than an epoch; it ends with the epochs before cooldown at the
// latest. Step schedules change at the beginning of the epochs they name.
//
// With `compat` the plan is what SuperGradients 3.7.1 does, measured:
//   - A rate is computed after the step of the batch it belongs to, so that it
//     is used one step late, and the first two steps after warm-up are equal.
//     Step schedules change one epoch late.
//   - Warm-up and schedules count batches. Warm-up in steps is cut at the end
//     of the first epoch, but Cosine waits for the uncut number: it may never
//     start. The other schedules start beneath the warm-up.
//   - Schedules wait for lr_warmup_epochs and lr_warmup_steps both, whichever
//     of them the warm-up's mode uses.
//   - With lr_warmup_steps Cosine ignores cooldown. Step always does.
//   - A skipped step counts: pass the number of windows instead.
#ifndef SLIPWAY_TRAINER_LOOP_LR_PLAN_H_
#define SLIPWAY_TRAINER_LOOP_LR_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/plugin/schedule.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

struct LrPlanOptions {
  int64_t max_epochs = 1;         // at least 1
  int64_t batches_per_epoch = 1;  // of one rank; at least 1
  int64_t accumulate = 1;         // batches per optimizer step; at least 1
  // An epoch's last, shorter window is completed in the next epoch
  // (accumulate: sum) instead of being a step of its own.
  bool carry_over = false;
  int64_t cooldown_epochs = 0;
  bool compat = false;
};

// Parameter groups as far as rates go.
struct LrGroup {
  std::string name;
  double initial_lr = 0;
};

// Immutable; safe from several threads.
class LrPlan {
 public:
  // A null schedule keeps the initial rate; a null warm-up is none. Both are
  // borrowed and must outlive the plan.
  LrPlan(const LrPlanOptions& options, const Schedule* schedule,
         const Warmup* warmup, std::vector<LrGroup> groups);

  // Optimizer steps of the whole training, if none is skipped.
  int64_t total_steps() const;
  // One rate per group for the step that follows `step` steps, 0 <= step. A
  // step beyond the end (a training that is resumed for longer than its plan)
  // has the rate of the last.
  std::vector<double> At(int64_t step) const;

  // Warnings about a warm-up or cooldown that does not fit the training.
  Problems Check() const;

 private:
  LrPlanOptions options_;
  const Schedule* schedule_;
  const Warmup* warmup_;
  std::vector<LrGroup> groups_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_LR_PLAN_H_
