#include "trainer/loop/watched_metric.h"

#include <cmath>

#include "trainer/plugin/components.h"

namespace slipway::loop {

const NamedValues::value_type* FindMetric(const NamedValues& values,
                                          std::string_view name) {
  for (const auto& entry : values) {
    if (entry.first == name) return &entry;
  }
  const std::string key = ComponentKey(name);
  for (const auto& entry : values) {
    if (ComponentKey(entry.first) == key) return &entry;
  }
  return nullptr;
}

bool WatchedMetric::Offer(const NamedValues& values, int64_t epoch) {
  const auto* entry = name_.empty() ? nullptr : FindMetric(values, name_);
  if (entry == nullptr || std::isnan(entry->second)) return false;
  const double value = entry->second;
  const bool better = !best_ || (greater_is_better_ ? value > best_->value
                                                    : value < best_->value);
  if (better) best_ = BestValue{entry->first, value, epoch};
  return better;
}

}  // namespace slipway::loop
