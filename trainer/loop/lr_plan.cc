#include "trainer/loop/lr_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/loop/compat_rates.h"

namespace slipway::loop {
namespace {

// The corrected behaviour. Units are optimizer steps where every window ends
// with its epoch. Windows that are carried over do not fit epochs, so that the
// unit is a batch there, and a step lies at the first batch of its window.
class Rates {
 public:
  Rates(const LrPlanOptions& options, const Schedule* schedule,
        const Warmup* warmup)
      : options_(options),
        schedule_(schedule),
        warmup_(warmup),
        units_per_step_(options.carry_over ? options.accumulate : 1),
        units_per_epoch_(options.batches_per_epoch) {
    if (!options.carry_over) {
      units_per_epoch_ = (options.batches_per_epoch + options.accumulate - 1) /
                         options.accumulate;
    }
  }

  int64_t total_steps() const {
    return options_.max_epochs * units_per_epoch_ / units_per_step_;
  }

  // Steps that begin before cooldown.
  int64_t steps_before_cooldown() const {
    const int64_t epochs = options_.max_epochs - options_.cooldown_epochs;
    return (epochs * units_per_epoch_ + units_per_step_ - 1) / units_per_step_;
  }

  double Rate(const LrGroup& group, int64_t step) const {
    const int64_t last = std::max<int64_t>(steps_before_cooldown() - 1, 0);
    const double rate = UnscaledRate(group, Place(std::min(step, last)));
    if (warmup_ == nullptr) return rate;
    return rate * warmup_->Factor(Place(step));
  }

 private:
  double UnscaledRate(const LrGroup& group, const SchedulePlace& place) const {
    if (warmup_ != nullptr) {
      const auto rate = warmup_->Rate(group.name, group.initial_lr, place);
      if (rate) return *rate;
    }
    if (schedule_ == nullptr || place.length() <= 0) return group.initial_lr;
    return schedule_->Rate(group.initial_lr, place);
  }

  SchedulePlace Place(int64_t step) const {
    const int64_t unit = step * units_per_step_;
    return {.epoch = unit / units_per_epoch_,
            .batch = unit % units_per_epoch_,
            .batches_per_epoch = units_per_epoch_,
            .max_epochs = options_.max_epochs,
            .warmup_epochs = warmup_ == nullptr ? 0 : warmup_->epochs(),
            .warmup_steps = WarmupUnits(),
            .cooldown_epochs = options_.cooldown_epochs,
            .accumulate = units_per_step_};
  }

  int64_t WarmupUnits() const {
    if (warmup_ == nullptr) return 0;
    return std::min(warmup_->steps(), steps_before_cooldown()) *
           units_per_step_;
  }

  const LrPlanOptions& options_;
  const Schedule* schedule_;
  const Warmup* warmup_;
  int64_t units_per_step_;
  int64_t units_per_epoch_;
};

Problem Warning(std::string message, std::string detail, std::string hint) {
  return {.kind = "recipe",
          .severity = Severity::kWarning,
          .message = std::move(message),
          .detail = std::move(detail),
          .hint = std::move(hint)};
}

// What becomes of a warm-up in steps that is longer than `limit` steps.
std::string CutDetail(const LrPlanOptions& options, int64_t limit) {
  if (!options.compat) {
    return absl::StrCat("it ends with the ", limit,
                        " steps before cooldown, and no schedule follows");
  }
  return absl::StrCat("as in SuperGradients it ends with the first epoch's ",
                      limit, " batches, but Cosine waits for all of it");
}

}  // namespace

LrPlan::LrPlan(const LrPlanOptions& options, const Schedule* schedule,
               const Warmup* warmup, std::vector<LrGroup> groups)
    : options_(options),
      schedule_(schedule),
      warmup_(warmup),
      groups_(std::move(groups)) {}

int64_t LrPlan::total_steps() const {
  return Rates(options_, schedule_, warmup_).total_steps();
}

std::vector<double> LrPlan::At(int64_t step) const {
  step = std::min(step, std::max<int64_t>(total_steps() - 1, 0));
  std::vector<double> rates;
  rates.reserve(groups_.size());
  for (const LrGroup& group : groups_) {
    rates.push_back(
        options_.compat
            ? CompatRates(options_, schedule_, warmup_).Rate(group, step)
            : Rates(options_, schedule_, warmup_).Rate(group, step));
  }
  return rates;
}

Problems LrPlan::Check() const {
  Problems problems;
  const int64_t epochs = warmup_ == nullptr ? 0 : warmup_->epochs();
  const int64_t steps = warmup_ == nullptr ? 0 : warmup_->steps();
  if (epochs + options_.cooldown_epochs >= options_.max_epochs) {
    problems.push_back(Warning(
        absl::StrCat("lr_warmup_epochs ", epochs, " and lr_cooldown_epochs ",
                     options_.cooldown_epochs, " leave no epoch of max_epochs ",
                     options_.max_epochs, " to the schedule"),
        "", "train longer, or shorten warm-up and cooldown"));
  }
  const int64_t limit =
      options_.compat
          ? options_.batches_per_epoch
          : Rates(options_, schedule_, warmup_).steps_before_cooldown();
  if (steps > limit) {
    problems.push_back(Warning(
        absl::StrCat("lr_warmup_steps ", steps, " is longer than it can last"),
        CutDetail(options_, limit),
        absl::StrCat("set lr_warmup_steps to less than ", limit)));
  }
  return problems;
}

}  // namespace slipway::loop
