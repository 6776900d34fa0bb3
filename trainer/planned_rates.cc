#include "trainer/planned_rates.h"

#include <algorithm>
#include <set>

namespace slipway {

std::vector<PlannedRates> PlanRates(const loop::Trainer& trainer,
                                    const std::vector<int64_t>& steps) {
  const std::vector<std::string> names = trainer.group_names();
  std::vector<PlannedRates> planned;
  std::vector<size_t> positions;
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second) continue;
    positions.push_back(i);
    planned.push_back({.group = names[i], .values = {}});
  }
  for (const int64_t step : steps) {
    const std::vector<double> rates = trainer.lr_plan().At(step);
    for (size_t i = 0; i < positions.size(); ++i) {
      planned[i].values.push_back(rates[positions[i]]);
    }
  }
  return planned;
}

std::vector<int64_t> SpreadSteps(int64_t total, int64_t most) {
  std::vector<int64_t> steps;
  const int64_t count = std::min(total, most);
  for (int64_t i = 0; i < count; ++i) {
    steps.push_back(count == 1 ? 0 : i * (total - 1) / (count - 1));
  }
  return steps;
}

}  // namespace slipway
