// Dealing cores to ranks: sizes and shares, in numbers alone.
#ifndef SLIPWAY_LAUNCHER_PLACEMENT_DEAL_H_
#define SLIPWAY_LAUNCHER_PLACEMENT_DEAL_H_

#include <vector>

namespace slipway::launcher {

// The largest size that `ranks` ranks can all have if none spans two pools of
// these sizes; 0 if there are too few units.
int LargestSize(const std::vector<int>& pools, int ranks);

// How many ranks of `size` units each pool gets. Even: in proportion to what
// the pools can hold, the first ones more where it does not divide. Otherwise:
// the first pools are filled first. Needs LargestSize(pools, ranks) >= size.
std::vector<int> RanksPerPool(const std::vector<int>& pools, int ranks,
                              int size, bool even);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_PLACEMENT_DEAL_H_
