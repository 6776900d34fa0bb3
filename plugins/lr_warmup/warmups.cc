#include "plugins/lr_warmup/warmups.h"

#include <algorithm>
#include <utility>

namespace slipway::lr_warmup {
namespace {

constexpr int64_t kAutoLrSteps = 1000;
constexpr int64_t kAutoLrShare = 10;  // one tenth of the training

double StartRate(const StartRates& start, std::string_view group,
                 double fallback) {
  const auto found = start.by_group.find(group);
  if (found != start.by_group.end()) return found->second;
  return start.all.value_or(fallback);
}

class Scaled : public Warmup {
 public:
  explicit Scaled(AutoLr auto_lr) : auto_lr_(auto_lr) {}
  int64_t epochs() const override { return 0; }
  int64_t steps() const override { return 0; }
  std::optional<double> Rate(std::string_view group, double initial_lr,
                             const SchedulePlace& place) const override {
    return std::nullopt;
  }
  double Factor(const SchedulePlace& place) const override {
    return auto_lr_.Factor(place);
  }

 private:
  AutoLr auto_lr_;
};

class LinearEpoch : public Scaled {
 public:
  LinearEpoch(int64_t epochs, StartRates start, AutoLr auto_lr)
      : Scaled(auto_lr), epochs_(epochs), start_(std::move(start)) {}
  int64_t epochs() const override { return epochs_; }
  std::optional<double> Rate(std::string_view group, double initial_lr,
                             const SchedulePlace& place) const override {
    if (place.epoch >= epochs_) return std::nullopt;
    const double start = StartRate(start_, group, initial_lr / (epochs_ + 1));
    return start + place.epoch * (initial_lr - start) / epochs_;
  }

 private:
  int64_t epochs_;
  StartRates start_;
};

class LinearBatch : public Scaled {
 public:
  LinearBatch(int64_t steps, StartRates start, AutoLr auto_lr)
      : Scaled(auto_lr), steps_(steps), start_(std::move(start)) {}
  int64_t steps() const override { return steps_; }
  std::optional<double> Rate(std::string_view group, double initial_lr,
                             const SchedulePlace& place) const override {
    const int64_t batch = place.global_batch();
    if (batch >= place.warmup_steps) return std::nullopt;
    const double start = StartRate(start_, group, 0);
    const double last = std::max<int64_t>(place.warmup_steps - 1, 1);
    return start + batch * (initial_lr - start) / last;
  }

 private:
  int64_t steps_;
  StartRates start_;
};

class AwaitedWarmup : public Warmup {
 public:
  AwaitedWarmup(std::unique_ptr<Warmup> warmup, int64_t epochs, int64_t steps)
      : warmup_(std::move(warmup)), epochs_(epochs), steps_(steps) {}
  int64_t epochs() const override { return warmup_->epochs(); }
  int64_t steps() const override { return warmup_->steps(); }
  int64_t awaited_epochs() const override { return epochs_; }
  int64_t awaited_steps() const override { return steps_; }
  std::optional<double> Rate(std::string_view group, double initial_lr,
                             const SchedulePlace& place) const override {
    return warmup_->Rate(group, initial_lr, place);
  }
  double Factor(const SchedulePlace& place) const override {
    return warmup_->Factor(place);
  }

 private:
  std::unique_ptr<Warmup> warmup_;
  int64_t epochs_;
  int64_t steps_;
};

}  // namespace

double AutoLr::Factor(const SchedulePlace& place) const {
  if (world_size <= 1) return 1;
  int64_t position = place.global_batch() / place.accumulate;
  int64_t length = kAutoLrSteps;
  if (!has_schedule && place.max_epochs >= kAutoLrShare) {
    position = place.epoch;
    length = place.max_epochs / kAutoLrShare;
  } else if (!has_schedule) {
    length = place.max_epochs * place.batches_per_epoch / place.accumulate /
             kAutoLrShare;
  }
  if (position >= length) return world_size;
  return 1 + (world_size - 1.0) * position / length;
}

std::unique_ptr<Warmup> NoWarmup(AutoLr auto_lr) {
  return std::make_unique<Scaled>(auto_lr);
}

std::unique_ptr<Warmup> LinearEpochWarmup(int64_t epochs, StartRates start,
                                          AutoLr auto_lr) {
  return std::make_unique<LinearEpoch>(epochs, std::move(start), auto_lr);
}

std::unique_ptr<Warmup> LinearBatchWarmup(int64_t steps, StartRates start,
                                          AutoLr auto_lr) {
  return std::make_unique<LinearBatch>(steps, std::move(start), auto_lr);
}

std::unique_ptr<Warmup> Awaited(std::unique_ptr<Warmup> warmup, int64_t epochs,
                                int64_t steps) {
  return std::make_unique<AwaitedWarmup>(std::move(warmup), epochs, steps);
}

}  // namespace slipway::lr_warmup
