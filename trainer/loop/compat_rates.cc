#include "trainer/loop/compat_rates.h"

#include <algorithm>
#include <tuple>

namespace slipway::loop {
namespace {

// In the order in which they come in one batch.
enum Event { kEpochBegins, kBatchBegins, kAfterStep };

}  // namespace

CompatRates::CompatRates(const LrPlanOptions& options, const Schedule* schedule,
                         const Warmup* warmup)
    : options_(options),
      schedule_(schedule),
      warmup_(warmup),
      awaited_epochs_(warmup == nullptr ? 0 : warmup->awaited_epochs()) {}

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
  Write last{.rate = group.initial_lr};
  for (const Write& write :
       {EpochWarmup(group, batch), BatchWarmup(group, batch),
        OfSchedule(group, step)}) {
    if (std::tie(write.batch, write.event) > std::tie(last.batch, last.event)) {
      last = write;
    }
  }
  if (warmup_ == nullptr) return last.rate;
  return last.rate * warmup_->Factor(Place(batch, capped_steps()));
}

CompatRates::Write CompatRates::EpochWarmup(const LrGroup& group,
                                            int64_t batch) const {
  const int64_t epochs = warmup_ == nullptr ? 0 : warmup_->epochs();
  if (epochs == 0) return {};
  // It still writes in the epoch that follows, where it has arrived.
  const int64_t epoch = std::min(batch / options_.batches_per_epoch, epochs);
  const int64_t start = epoch * options_.batches_per_epoch;
  return {start, kEpochBegins, WarmupRate(group, start)};
}

CompatRates::Write CompatRates::BatchWarmup(const LrGroup& group,
                                            int64_t batch) const {
  if (capped_steps() == 0) return {};
  const int64_t last = std::min(batch, capped_steps() - 1);
  return {last, kBatchBegins, WarmupRate(group, last)};
}

CompatRates::Write CompatRates::OfSchedule(const LrGroup& group,
                                           int64_t step) const {
  const int64_t batch = LastScheduled(step);
  if (batch < 0) return {};
  const double rate =
      schedule_->Rate(group.initial_lr, Place(batch, awaited_steps()));
  return {batch, kAfterStep, rate};
}

int64_t CompatRates::LastScheduled(int64_t step) const {
  if (schedule_ == nullptr) return -1;
  if (schedule_->per_epoch()) return LastEpochEnd(step);
  int64_t last_step = step - 1;
  int64_t first_batch = awaited_steps();
  // Behind a warm-up in steps Cosine looks at nothing else.
  if (first_batch == 0) {
    const int64_t end = options_.max_epochs - options_.cooldown_epochs;
    last_step = std::min(last_step, StepsBefore(end) - 1);
    first_batch = awaited_epochs_ * options_.batches_per_epoch;
  }
  if (last_step < 0) return -1;
  const int64_t batch = LastBatch(last_step);
  return batch >= first_batch ? batch : -1;
}

int64_t CompatRates::LastEpochEnd(int64_t step) const {
  const int64_t epoch = LastBatch(step) / options_.batches_per_epoch;
  if (epoch - 1 < awaited_epochs_) return -1;
  return epoch * options_.batches_per_epoch - 1;
}

double CompatRates::WarmupRate(const LrGroup& group, int64_t batch) const {
  return warmup_
      ->Rate(group.name, group.initial_lr, Place(batch, capped_steps()))
      .value_or(group.initial_lr);
}

SchedulePlace CompatRates::Place(int64_t batch, int64_t warmup_steps) const {
  const int64_t length = options_.batches_per_epoch;
  return {.epoch = batch / length,
          .batch = batch % length,
          .batches_per_epoch = length,
          .max_epochs = options_.max_epochs,
          .warmup_epochs = awaited_epochs_,
          .warmup_steps = warmup_steps,
          .cooldown_epochs = options_.cooldown_epochs,
          .accumulate = options_.accumulate};
}

int64_t CompatRates::capped_steps() const {
  if (warmup_ == nullptr) return 0;
  return std::min(warmup_->steps(), options_.batches_per_epoch);
}

int64_t CompatRates::awaited_steps() const {
  if (warmup_ == nullptr || schedule_ == nullptr) return 0;
  return schedule_->always_waits_for_warmup() ? warmup_->awaited_steps() : 0;
}

}  // namespace slipway::loop
