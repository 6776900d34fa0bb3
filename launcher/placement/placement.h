// Which cores each rank gets: a pure function of a machine and a request.
//
//   Problems problems;
//   std::optional<Placement> placement =
//       Place(machine, {.num_processes = 4}, problems);
//   std::cout << FormatPlacement(*placement);
//
// What holds of every placement without explicit CPU lists: ranks are disjoint
// and inside the allowed set; their sizes differ by one core at most (by one
// cache, with the policy l3); no rank spans two packages, unless
// `allow_straddle` is set and it gains cores by it; every CPU that no rank uses
// has a reason. The same machine and request always give the same placement.
#ifndef SLIPWAY_LAUNCHER_PLACEMENT_PLACEMENT_H_
#define SLIPWAY_LAUNCHER_PLACEMENT_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "launcher/topology/cpu_set.h"
#include "launcher/topology/topology.h"
#include "nlohmann/json_fwd.hpp"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

enum class Policy {
  // An equal share of each package; NUMA nodes kept whole where that costs no
  // core.
  kSpread,
  // The same sizes, on the first packages that have room.
  kPack,
  // An equal number of ranks on every NUMA node that has cores.
  kNuma,
  // Whole last-level caches.
  kL3,
  // As spread, with all hardware threads of a rank's cores in its mask.
  kExclusive,
};

// What to do with a core's further hardware threads.
enum class Smt {
  kSkip,  // the mask has one CPU per core
  kKeep,  // the mask has all of them, and each runs a thread
  kPair,  // the mask has all of them, and each core runs one thread
};

// What to do with cores that do not divide evenly.
enum class Remainder {
  kGive,   // some ranks get one more
  kDrop,   // they stay unused
  kError,  // refused
};

struct PlacementRequest {
  // 0: as many as advisable (see AdvisedProcesses).
  int num_processes = 1;
  Policy policy = Policy::kSpread;
  Smt smt = Smt::kSkip;
  Remainder remainder = Remainder::kGive;
  // The machine's first cores, left to the system.
  int reserve_cores = 0;
  bool allow_straddle = false;
  // If given, rank i gets exactly the i-th list, and only `num_processes`
  // (which must agree) matters of the rest.
  std::vector<CpuSet> cpu_for_each_process;
};

struct RankPlacement {
  int rank = 0;
  CpuSet cpus;
  std::vector<int> packages;      // ascending ids, as the two below
  std::vector<int> numa_nodes;    // of its CPUs
  std::vector<int> memory_nodes;  // where its memory shall lie
  // OMP_NUM_THREADS: of the mask, within the machine's CPU quota.
  int threads = 1;
  // The machine's GPUs go to the ranks in their order; where it can be, a
  // rank's cores are on its GPU's node.
  std::optional<int> gpu;
  bool straddles = false;  // spans packages
};

struct UnusedCpu {
  int cpu = 0;
  // "remainder", "smt", "reserved" or "not_allowed".
  std::string reason;
};

struct Placement {
  std::vector<RankPlacement> ranks;
  std::vector<UnusedCpu> unused;  // ascending
};

// See the banner. Nullopt if `problems` gained an error: more processes than
// usable cores, lists that overlap, name absent or forbidden CPUs or do not
// match in number, a policy that the machine cannot serve.
std::optional<Placement> Place(const Topology& machine,
                               const PlacementRequest& request,
                               Problems& problems);

// Ranks that are not bound: each may use every allowed CPU and runs its share
// of threads, one at least. There may be more of them than cores.
Placement PlaceUnbound(const Topology& machine, int num_processes);

// The number of processes for `auto`: each gets at least seven physical cores,
// and as many as divide a package evenly (BigDL-Nano's advice); one a package
// where packages are smaller.
int AdvisedProcesses(const Topology& machine, int reserve_cores = 0);

// "[[0,1],[2,3]]" or "0-1;2-3". INVALID_ARGUMENT quotes what is wrong.
absl::StatusOr<std::vector<CpuSet>> ParseCpuLists(std::string_view text);

// A table for people: a line a rank, counted from `first_rank`, then what is
// unused and why.
std::string FormatPlacement(const Placement& placement, int first_rank = 0);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_PLACEMENT_PLACEMENT_H_
