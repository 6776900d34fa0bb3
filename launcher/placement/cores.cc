#include "launcher/placement/cores.h"

#include <algorithm>
#include <utility>

namespace slipway::launcher {
namespace {

std::vector<Pool> PoolsBy(const std::vector<UsableCore>& cores,
                          bool (*same)(const UsableCore&, const UsableCore&)) {
  std::vector<Pool> pools;
  for (const UsableCore& core : cores) {
    const auto pool = std::find_if(
        pools.begin(), pools.end(),
        [&](const Pool& pool) { return same(pool.front(), core); });
    if (pool != pools.end()) {
      pool->push_back(core);
    } else {
      pools.push_back({core});
    }
  }
  return pools;
}

bool SamePackage(const UsableCore& a, const UsableCore& b) {
  return a.package == b.package;
}
// A node may span packages; its share in each is a pool of its own.
bool SameNode(const UsableCore& a, const UsableCore& b) {
  return SamePackage(a, b) && a.numa_node == b.numa_node;
}
bool SameCache(const UsableCore& a, const UsableCore& b) {
  return SameNode(a, b) && a.cache == b.cache;
}

}  // namespace

std::vector<UsableCore> UsableCores(const Topology& machine, int reserve) {
  std::vector<UsableCore> cores;
  for (const Package& package : machine.packages) {
    for (const NumaNode& node : package.numa_nodes) {
      for (const CacheGroup& group : node.l3) {
        for (const Core& core : group.cores) {
          const CpuSet usable =
              CpuSet(core.cpus).Intersection(machine.allowed_cpus);
          if (usable.empty()) continue;
          cores.push_back({.package = package.id,
                           .numa_node = node.id,
                           .cache = group.id,
                           .cpus = usable.ToVector()});
        }
      }
    }
  }
  const auto reserved =
      std::min<size_t>(static_cast<size_t>(std::max(reserve, 0)), cores.size());
  cores.erase(cores.begin(), cores.begin() + static_cast<ptrdiff_t>(reserved));
  return cores;
}

std::vector<Pool> PoolsByPackage(const std::vector<UsableCore>& cores) {
  return PoolsBy(cores, SamePackage);
}
std::vector<Pool> PoolsByNode(const std::vector<UsableCore>& cores) {
  return PoolsBy(cores, SameNode);
}
std::vector<Pool> PoolsByCache(const std::vector<UsableCore>& cores) {
  return PoolsBy(cores, SameCache);
}

}  // namespace slipway::launcher
