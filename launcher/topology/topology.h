// A machine as placement sees it: packages, NUMA nodes, shared caches, physical
// cores and the logical CPUs on them.
//
//   absl::StatusOr<Topology> machine = ReadTopology({});
//   std::cout << FormatTopology(*machine);
//
// A value, so that planning can be tried on any machine: ReadTopology also
// takes hwloc's synthetic descriptions and XML files.
#ifndef SLIPWAY_LAUNCHER_TOPOLOGY_TOPOLOGY_H_
#define SLIPWAY_LAUNCHER_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/topology/cpu_set.h"
#include "nlohmann/json_fwd.hpp"

namespace slipway::launcher {

// A physical core. `id` counts the machine's cores from 0, in hwloc's order;
// `cpus` are its hardware threads, whether this process may use them or not.
struct Core {
  int id = 0;
  std::vector<int> cpus;
};

// Cores that share a last-level cache.
struct CacheGroup {
  int id = 0;
  std::vector<Core> cores;
};

// `id` is the operating system's. A node without memory is possible, and so is
// one without cores (memory only).
struct NumaNode {
  int id = 0;
  uint64_t memory_bytes = 0;
  std::vector<CacheGroup> l3;
};

// A socket.
struct Package {
  int id = 0;
  std::vector<NumaNode> numa_nodes;
};

struct Gpu {
  int index = 0;
  std::string pci;
  int numa_node = -1;  // -1: unknown
};

struct Topology {
  enum class Source { kNative, kSynthetic, kXml };
  Source source = Source::kNative;
  std::vector<Package> packages;
  // What this process may run on: affinity mask, cgroups and hwloc agree.
  CpuSet allowed_cpus;
  // NUMA nodes whose memory the cgroup allows; absent: all.
  std::optional<CpuSet> allowed_memory;
  // CPUs' worth of time that a cgroup quota grants; absent: no quota.
  std::optional<double> quota_cpus;
  std::vector<Gpu> gpus;

  CpuSet AllCpus() const;
  bool MayUseMemoryOf(int node) const {
    return !allowed_memory || allowed_memory->contains(node);
  }
};

struct TopologyRequest {
  // "" for this machine; else a synthetic description ("pack:2 [numa] core:8
  // pu:2") or the path of an XML file (ends in .xml).
  std::string topology;
  // Root of the file system that describes the machine; tests pass their own.
  std::string root = "/";
};

// INVALID_ARGUMENT for a description or a file that is none (and why);
// FAILED_PRECONDITION if nothing is allowed.
absl::StatusOr<Topology> ReadTopology(const TopologyRequest& request);

// For people: an indented tree with the allowed CPUs marked.
std::string FormatTopology(const Topology& topology);

// `launcher topo --format=json`, as in the contracts.
nlohmann::ordered_json ToJson(const Topology& topology);

// The topology of such a document. INVALID_ARGUMENT says what it lacks.
absl::StatusOr<Topology> TopologyFromJson(const nlohmann::json& document);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_TOPOLOGY_TOPOLOGY_H_
