#include "plugins/optim/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "trainer/recipe/params.h"

namespace slipway::optim {
namespace {

class Cosine : public Schedule {
 public:
  explicit Cosine(double final_ratio) : final_ratio_(final_ratio) {}
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    const double position = std::max<int64_t>(place.position(), 0);
    const double angle = std::numbers::pi * position / (place.length() + 1.0);
    const double wave = 0.5 * (1 + std::cos(angle));
    return initial_lr * (wave * (1 - final_ratio_) + final_ratio_);
  }
  bool always_waits_for_warmup() const override { return true; }

 private:
  double final_ratio_;
};

class Poly : public Schedule {
 public:
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    const double done = static_cast<double>(place.position()) / place.length();
    return initial_lr * std::pow(1 - done, 0.9);
  }
};

class Exponential : public Schedule {
 public:
  explicit Exponential(double factor) : factor_(factor) {}
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    const double epochs =
        static_cast<double>(place.position()) / place.batches_per_epoch;
    return initial_lr * std::pow(factor_, epochs);
  }

 private:
  double factor_;
};

class Step : public Schedule {
 public:
  Step(std::vector<int64_t> updates, double factor)
      : updates_(std::move(updates)), factor_(factor) {}
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    const auto passed =
        std::count_if(updates_.begin(), updates_.end(),
                      [&](int64_t update) { return update <= place.epoch; });
    return initial_lr * std::pow(factor_, passed);
  }
  bool per_epoch() const override { return true; }

 private:
  std::vector<int64_t> updates_;
  double factor_;
};

class PeriodicStep : public Schedule {
 public:
  PeriodicStep(double frequency, double factor)
      : frequency_(frequency), factor_(factor) {}
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    return initial_lr * std::pow(factor_, UpdatesPassed(place));
  }
  bool per_epoch() const override { return true; }

 private:
  int64_t UpdatesPassed(const SchedulePlace& place) const {
    const int64_t end = place.max_epochs - place.cooldown_epochs;
    const double last = std::min(place.epoch, end - 1);
    int64_t passed = 0;
    for (int64_t x = 1; x < end; ++x) {
      const double update = std::ceil(frequency_ * x);
      if (update > last) break;
      if (update >= place.warmup_epochs) ++passed;
    }
    return passed;
  }

  double frequency_;
  double factor_;
};

const recipe::Node& Hyperparameters(const recipe::Node& recipe) {
  static const recipe::Node& none = *new recipe::Node();
  const recipe::Node* found = recipe.Find("training_hyperparams");
  return found == nullptr ? none : *found;
}

// Runs `make` on the hyperparameters; null if they have errors.
template <typename Make>
std::unique_ptr<Schedule> Read(const recipe::Node& recipe, Problems& problems,
                               Make make) {
  const size_t before = problems.size();
  recipe::Params params(Hyperparameters(recipe), "training_hyperparams",
                        problems);
  std::unique_ptr<Schedule> schedule = make(params);
  return problems.size() == before ? std::move(schedule) : nullptr;
}

double ReadFactor(recipe::Params& params) {
  return params.Double("lr_decay_factor", {.min = 0, .max = 1});
}

}  // namespace

std::unique_ptr<Schedule> CosineSchedule(double final_ratio) {
  return std::make_unique<Cosine>(final_ratio);
}

std::unique_ptr<Schedule> PolySchedule() { return std::make_unique<Poly>(); }

std::unique_ptr<Schedule> ExponentialSchedule(double factor) {
  return std::make_unique<Exponential>(factor);
}

std::unique_ptr<Schedule> StepSchedule(std::vector<int64_t> updates,
                                       double factor) {
  return std::make_unique<Step>(std::move(updates), factor);
}

std::unique_ptr<Schedule> PeriodicStepSchedule(double frequency,
                                               double factor) {
  return std::make_unique<PeriodicStep>(frequency, factor);
}

std::unique_ptr<Schedule> ReadCosineSchedule(const recipe::Node& recipe,
                                             Problems& problems) {
  return Read(recipe, problems, [](recipe::Params& params) {
    return CosineSchedule(
        params.Double("cosine_final_lr_ratio", {.fallback = 0.01, .min = 0}));
  });
}

std::unique_ptr<Schedule> ReadExponentialSchedule(const recipe::Node& recipe,
                                                  Problems& problems) {
  return Read(recipe, problems, [](recipe::Params& params) {
    return ExponentialSchedule(ReadFactor(params));
  });
}

std::unique_ptr<Schedule> ReadStepSchedule(const recipe::Node& recipe,
                                           Problems& problems) {
  return Read(recipe, problems, [](recipe::Params& params) {
    const double factor = ReadFactor(params);
    const double frequency =
        params.Double("step_lr_update_freq", {.fallback = 0, .min = 0});
    std::vector<int64_t> updates =
        params.Ints("lr_updates", 0, std::vector<int64_t>());
    if (frequency > 0 && !updates.empty()) {
      params.Fail("step_lr_update_freq",
                  "both step_lr_update_freq and lr_updates say when the "
                  "learning rate falls",
                  "keep one of them");
    }
    if (frequency == 0 && updates.empty()) {
      params.Fail("lr_updates",
                  "the step schedule does not know when the learning rate "
                  "falls",
                  "set training_hyperparams.lr_updates to a list of epochs, "
                  "or step_lr_update_freq to a number of epochs");
    }
    return frequency > 0 ? PeriodicStepSchedule(frequency, factor)
                         : StepSchedule(std::move(updates), factor);
  });
}

}  // namespace slipway::optim
