// The learning rates that SuperGradients 3.7.1 really uses, as LrPlan gives
// them with `compat`. Not for use by itself.
//
// There a rate is a variable that callbacks overwrite, in this order:
//
//   epoch begins         LinearEpochLRWarmup, in the epochs 0 to warmup_epochs
//   batch begins         LinearBatchLRWarmup
//   optimizer steps      uses the variable
//   after that step      Cosine, Poly, Exponential, where enabled
//   epoch ends           Step
//
// So the rate of a step is what the last of those before it wrote, which this
// class finds without walking through the steps.
#ifndef SLIPWAY_TRAINER_LOOP_COMPAT_RATES_H_
#define SLIPWAY_TRAINER_LOOP_COMPAT_RATES_H_

#include <cstdint>

#include "trainer/loop/lr_plan.h"
#include "trainer/plugin/schedule.h"

namespace slipway::loop {

class CompatRates {
 public:
  // As for LrPlan. All are borrowed.
  CompatRates(const LrPlanOptions& options, const Schedule* schedule,
              const Warmup* warmup);

  double Rate(const LrGroup& group, int64_t step) const;
  // The batch, counted over all epochs, that completes step `step`.
  int64_t LastBatch(int64_t step) const;
  // Steps that are completed before `epoch` begins.
  int64_t StepsBefore(int64_t epoch) const;

 private:
  // Something that wrote the variable: in which batch, and as the how manieth
  // of the events above.
  struct Write {
    int64_t batch = -1;
    int event = 0;
    double rate = 0;
  };

  // The last writes of each kind that step `step`, in `batch`, finds.
  Write EpochWarmup(const LrGroup& group, int64_t batch) const;
  Write BatchWarmup(const LrGroup& group, int64_t batch) const;
  Write OfSchedule(const LrGroup& group, int64_t step) const;
  // The batch after which the schedule wrote last; -1 if it has not yet.
  int64_t LastScheduled(int64_t step) const;
  int64_t LastEpochEnd(int64_t step) const;

  double WarmupRate(const LrGroup& group, int64_t batch) const;
  SchedulePlace Place(int64_t batch, int64_t warmup_steps) const;
  // Steps that warm-up has, and steps that the schedule waits for.
  int64_t capped_steps() const;
  int64_t awaited_steps() const;

  const LrPlanOptions& options_;
  const Schedule* schedule_;
  const Warmup* warmup_;
  int64_t awaited_epochs_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_COMPAT_RATES_H_
