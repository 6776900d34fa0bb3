#include "trainer/loop/best_models.h"

#include <algorithm>
#include <cmath>

namespace slipway::loop {

// Of equals the youngest: an older one was not replaced by it either.
size_t BestModels::Worst() const {
  size_t worst = 0;
  for (size_t i = 1; i < models_.size(); ++i) {
    if (!Better(models_[i].value, models_[worst].value)) worst = i;
  }
  return worst;
}

bool BestModels::Takes(double value) const {
  if (std::isnan(value)) return false;
  return models_.size() < kMost || Better(value, models_[Worst()].value);
}

std::vector<RankedModel> BestModels::Add(const RankedModel& model) {
  if (std::isnan(model.value)) return {model};
  std::erase_if(models_, [&](const RankedModel& other) {
    return other.epoch == model.epoch;
  });
  const auto place = std::lower_bound(
      models_.begin(), models_.end(), model,
      [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
  models_.insert(place, model);
  if (models_.size() <= kMost) return {};
  const size_t worst = Worst();
  const RankedModel gone = models_[worst];
  models_.erase(models_.begin() + static_cast<std::ptrdiff_t>(worst));
  return {gone};
}

}  // namespace slipway::loop
