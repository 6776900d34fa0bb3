#include "launcher/placement/deal.h"

#include <algorithm>
#include <numeric>

namespace slipway::launcher {

int LargestSize(const std::vector<int>& pools, int ranks) {
  const int largest =
      pools.empty() ? 0 : *std::max_element(pools.begin(), pools.end());
  for (int size = largest; size > 0; --size) {
    int fit = 0;
    for (int pool : pools) fit += pool / size;
    if (fit >= ranks) return size;
  }
  return 0;
}

std::vector<int> RanksPerPool(const std::vector<int>& pools, int ranks,
                              int size, bool even) {
  std::vector<int> result(pools.size(), 0);
  for (int dealt = 0; dealt < ranks; ++dealt) {
    // Even: the pool that keeps most cores per rank; else the first with room.
    int chosen = -1;
    for (size_t i = 0; i < pools.size(); ++i) {
      if ((result[i] + 1) * size > pools[i]) continue;
      if (chosen < 0) chosen = static_cast<int>(i);
      if (!even) break;
      const auto best = static_cast<size_t>(chosen);
      // pools[i] / (result[i] + 1) against that of the best, in integers.
      if (pools[i] * (result[best] + 1) > pools[best] * (result[i] + 1)) {
        chosen = static_cast<int>(i);
      }
    }
    ++result[static_cast<size_t>(chosen)];
  }
  return result;
}

}  // namespace slipway::launcher
