// The metric by which the best epoch is chosen.
//
//   WatchedMetric watched("accuracy", /*greater_is_better=*/true);
//   if (watched.Offer(valid_metrics, epoch)) SaveBest();
//   watched.best();   // {"Accuracy", 0.984, 7}
//
// Names match as SuperGradients matches them: exactly, else without case and
// separators. Values only.
#ifndef SLIPWAY_TRAINER_LOOP_WATCHED_METRIC_H_
#define SLIPWAY_TRAINER_LOOP_WATCHED_METRIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trainer/loop/run_result.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

// The entry of `values` that `name` means; null if there is none.
const NamedValues::value_type* FindMetric(const NamedValues& values,
                                          std::string_view name);

class WatchedMetric {
 public:
  // Watches nothing.
  WatchedMetric() = default;
  WatchedMetric(std::string name, bool greater_is_better)
      : name_(std::move(name)), greater_is_better_(greater_is_better) {}

  const std::string& name() const { return name_; }
  bool greater_is_better() const { return greater_is_better_; }

  // Takes an epoch's values; true if the watched one is strictly better than
  // all before it. A NaN, or no such value, is never better.
  bool Offer(const NamedValues& values, int64_t epoch);

  // Nullopt before the first value.
  const std::optional<BestValue>& best() const { return best_; }
  // That of a checkpoint.
  void set_best(std::optional<BestValue> best) { best_ = std::move(best); }

 private:
  std::string name_;
  bool greater_is_better_ = true;
  std::optional<BestValue> best_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_WATCHED_METRIC_H_
