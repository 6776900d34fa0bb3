// --cpu_for_each_process: lists of CPUs that a user wrote.
#ifndef SLIPWAY_LAUNCHER_PLACEMENT_EXPLICIT_LISTS_H_
#define SLIPWAY_LAUNCHER_PLACEMENT_EXPLICIT_LISTS_H_

#include "launcher/placement/placement.h"

namespace slipway::launcher {

// Appends an error for each list that is empty, overlaps an earlier one, or
// names a CPU that the machine lacks or this process may not use, and if their
// number is not request.num_processes. False if there was any.
bool CheckLists(const Topology& machine, const PlacementRequest& request,
                Problems& problems);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_PLACEMENT_EXPLICIT_LISTS_H_
