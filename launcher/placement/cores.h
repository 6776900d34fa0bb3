// The cores that a placement may deal out, with where they lie.
#ifndef SLIPWAY_LAUNCHER_PLACEMENT_CORES_H_
#define SLIPWAY_LAUNCHER_PLACEMENT_CORES_H_

#include <vector>

#include "launcher/topology/topology.h"

namespace slipway::launcher {

// A physical core of which at least one hardware thread is allowed.
struct UsableCore {
  int package = 0;  // ids of the topology
  int numa_node = 0;
  int cache = 0;
  std::vector<int> cpus;  // the allowed ones, ascending; never empty
};

// In the machine's order (package, node, cache, core), without the first
// `reserve`.
std::vector<UsableCore> UsableCores(const Topology& machine, int reserve);

// Cores that stay together: those of one package, node or cache.
using Pool = std::vector<UsableCore>;

std::vector<Pool> PoolsByPackage(const std::vector<UsableCore>& cores);
std::vector<Pool> PoolsByNode(const std::vector<UsableCore>& cores);
std::vector<Pool> PoolsByCache(const std::vector<UsableCore>& cores);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_PLACEMENT_CORES_H_
