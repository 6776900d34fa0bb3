// What this process's control groups allow, read from files.
//
//   CgroupLimits limits = ReadCgroupLimits("/");
//   if (limits.cpus) allowed = allowed.Intersection(*limits.cpus);
//
// Version 1 (cpuset, cpu) and version 2 hierarchies, also mounted together. The
// process's own group counts, and for the quota its ancestors too: the smallest
// quota on the way up holds.
#ifndef SLIPWAY_LAUNCHER_TOPOLOGY_CGROUP_H_
#define SLIPWAY_LAUNCHER_TOPOLOGY_CGROUP_H_

#include <optional>
#include <string>

#include "launcher/topology/cpu_set.h"

namespace slipway::launcher {

struct CgroupLimits {
  std::optional<CpuSet> cpus;   // of the cpuset; absent: not limited
  std::optional<CpuSet> nodes;  // NUMA nodes whose memory may be used
  std::optional<double> quota_cpus;
};

// `root` is the file system's root ("/"); proc and the mounted hierarchies are
// found under it. What cannot be read limits nothing.
CgroupLimits ReadCgroupLimits(const std::string& root);

// The folder of this process's own group in the version 2 hierarchy; "" without
// one.
std::string OwnCgroup2(const std::string& root);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_TOPOLOGY_CGROUP_H_
