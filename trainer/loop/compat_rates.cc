#include "trainer/loop/compat_rates.h"

#include <algorithm>

namespace slipway::loop {

CompatRates::CompatRates(const LrPlanOptions& options, const Schedule* schedule,
                         const Warmup* warmup)
    : options_(options),
      schedule_(schedule),
      warmup_(warmup),
      warmup_epochs_(warmup == nullptr ? 0 : warmup->epochs()),
      warmup_steps_(warmup == nullptr ? 0 : warmup->steps()) {}

int64_t CompatRates::LastBatch(int64_t step) const {
  const int64_t accumulate = options_.accumulate;
  if (options_.carry_over) return accumulate * (step + 1) - 1;
  const int64_t steps_per_epoch = StepsBefore(1);
  const int64_t end = (step % steps_per_epoch + 1) * accumulate;
  return step / steps_per_epoch * options_.batches_per_epoch +
         std::min(end, options_.batches_per_epoch) - 1;
}

int64_t CompatRates::StepsBefore(int64_t epoch) const {
  const int64_t batches = options_.batches_per_epoch;
  const int64_t accumulate = options_.accumulate;
  if (options_.carry_over) return epoch * batches / accumulate;
  return epoch * ((batches + accumulate - 1) / accumulate);
}

double CompatRates::Rate(const LrGroup& group, int64_t step) const {
  const int64_t batch = LastBatch(step);
  const double rate = UnscaledRate(group, batch, step);
  if (warmup_ == nullptr) return rate;
  return rate * warmup_->Factor(Place(batch, capped_steps()));
}

double CompatRates::UnscaledRate(const LrGroup& group, int64_t batch,
                                 int64_t step) const {
  const auto warm = [&](int64_t at) {
    return warmup_->Rate(group.name, group.initial_lr,
                         Place(at, capped_steps()));
  };
  if (WarmingUp(batch)) return warm(batch).value_or(group.initial_lr);
  const int64_t write = LastWrite(step);
  if (write >= 0) {
    return schedule_->Rate(group.initial_lr, Place(write, awaited_steps()));
  }
  // Between a warm-up in steps and the schedule the former's last rate stays.
  if (warmup_steps_ == 0) return group.initial_lr;
  return warm(capped_steps() - 1).value_or(group.initial_lr);
}

bool CompatRates::WarmingUp(int64_t batch) const {
  if (warmup_steps_ > 0) return batch < capped_steps();
  return batch < warmup_epochs_ * options_.batches_per_epoch;
}

int64_t CompatRates::LastWrite(int64_t step) const {
  if (schedule_ == nullptr) return -1;
  if (schedule_->per_epoch()) return LastEpochEnd(step);
  if (step == 0) return -1;
  // Cosine behind a warm-up in steps looks at nothing else.
  if (awaited_steps() > 0) {
    const int64_t batch = LastBatch(step - 1);
    return batch >= warmup_steps_ ? batch : -1;
  }
  const int64_t before_cooldown =
      StepsBefore(options_.max_epochs - options_.cooldown_epochs);
  const int64_t last_step = std::min(step, before_cooldown) - 1;
  if (last_step < 0) return -1;
  const int64_t batch = LastBatch(last_step);
  return batch >= warmup_epochs_ * options_.batches_per_epoch ? batch : -1;
}

int64_t CompatRates::LastEpochEnd(int64_t step) const {
  const int64_t epoch = LastBatch(step) / options_.batches_per_epoch;
  if (epoch - 1 < warmup_epochs_) return -1;
  return epoch * options_.batches_per_epoch - 1;
}

SchedulePlace CompatRates::Place(int64_t batch, int64_t warmup_steps) const {
  const int64_t length = options_.batches_per_epoch;
  return {.epoch = batch / length,
          .batch = batch % length,
          .batches_per_epoch = length,
          .max_epochs = options_.max_epochs,
          .warmup_epochs = warmup_epochs_,
          .warmup_steps = warmup_steps,
          .cooldown_epochs = options_.cooldown_epochs,
          .accumulate = options_.accumulate};
}

int64_t CompatRates::capped_steps() const {
  return std::min(warmup_steps_, options_.batches_per_epoch);
}

int64_t CompatRates::awaited_steps() const {
  const bool waits =
      schedule_ != nullptr && schedule_->always_waits_for_warmup();
  return waits ? warmup_steps_ : 0;
}

}  // namespace slipway::loop
