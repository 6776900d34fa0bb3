// Which of a training's evaluated models are the best ones so far.
//
//   BestModels best(/*greater_is_better=*/true);
//   if (best.Takes(value)) ...                 // save the model
//   for (const RankedModel& gone : best.Add({.epoch = 7, .value = value})) {
//     Remove(gone.epoch);
//   }
//
// As SuperGradients does for `average_best_models`: up to ten, and a model that
// is no better than the worst of ten does not replace it. Values only.
#ifndef SLIPWAY_TRAINER_LOOP_BEST_MODELS_H_
#define SLIPWAY_TRAINER_LOOP_BEST_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slipway::loop {

struct RankedModel {
  int64_t epoch = 0;  // from 1: how many were finished
  double value = 0;   // of the watched metric
};

class BestModels {
 public:
  static constexpr size_t kMost = 10;

  explicit BestModels(bool greater_is_better = true)
      : greater_is_better_(greater_is_better) {}

  // Whether a model of `value` would be kept. Never one that is not a number.
  bool Takes(double value) const;
  // Adds one, in place of that of the same epoch if there is one, and returns
  // those that are no longer among the best, which may be the new one itself.
  std::vector<RankedModel> Add(const RankedModel& model);
  // By epoch.
  const std::vector<RankedModel>& models() const { return models_; }

 private:
  bool Better(double a, double b) const {
    return greater_is_better_ ? a > b : a < b;
  }
  size_t Worst() const;

  bool greater_is_better_;
  std::vector<RankedModel> models_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_BEST_MODELS_H_
