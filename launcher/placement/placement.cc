#include "launcher/placement/placement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/placement/cores.h"
#include "launcher/placement/deal.h"
#include "launcher/placement/explicit_lists.h"

namespace slipway::launcher {
namespace {

void Fail(Problems& problems, std::string message, std::string detail,
          std::string hint) {
  problems.push_back({.kind = "value",
                      .message = std::move(message),
                      .detail = std::move(detail),
                      .hint = std::move(hint)});
}

// What is dealt out as one: a core, or the cores of one cache.
using Unit = std::vector<UsableCore>;

std::vector<Unit> Units(const Pool& pool, Policy policy) {
  if (policy == Policy::kL3) return PoolsByCache(pool);
  std::vector<Unit> units;
  for (const UsableCore& core : pool) units.push_back({core});
  return units;
}

int CountUnits(const Pool& pool, Policy policy) {
  return static_cast<int>(Units(pool, policy).size());
}

std::vector<int> Sizes(const std::vector<Pool>& pools, Policy policy) {
  std::vector<int> sizes;
  for (const Pool& pool : pools) sizes.push_back(CountUnits(pool, policy));
  return sizes;
}

// Nodes where they cost no core, else packages, else (if allowed, and if it
// gains any) the whole machine.
std::vector<Pool> ChoosePools(const std::vector<UsableCore>& cores,
                              const PlacementRequest& request) {
  const int ranks = request.num_processes;
  std::vector<Pool> pools = PoolsByNode(cores);
  if (request.policy == Policy::kNuma) return pools;
  int size = LargestSize(Sizes(pools, request.policy), ranks);
  const auto widen = [&](std::vector<Pool> wider) {
    const int wider_size = LargestSize(Sizes(wider, request.policy), ranks);
    if (wider_size <= size) return;
    pools = std::move(wider);
    size = wider_size;
  };
  widen(PoolsByPackage(cores));
  if (request.allow_straddle) widen({cores});
  return pools;
}

// Cuts a pool's units into `ranks` neighbouring pieces of `size` units, and one
// more for the first ones where that is wanted and there.
std::vector<Pool> Cut(const Pool& pool, int ranks, int size,
                      const PlacementRequest& request) {
  const std::vector<Unit> units = Units(pool, request.policy);
  int spare = static_cast<int>(units.size()) - ranks * size;
  if (request.remainder != Remainder::kGive) spare = 0;
  std::vector<Pool> pieces;
  auto next = units.begin();
  for (int i = 0; i < ranks; ++i) {
    const int length = size + (i < spare ? 1 : 0);
    Pool piece;
    for (const auto end = next + length; next != end; ++next) {
      piece.insert(piece.end(), next->begin(), next->end());
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

bool DividesEvenly(const std::vector<int>& sizes, const std::vector<int>& ranks,
                   int size) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != ranks[i] * size) return false;
  }
  return true;
}

std::vector<Pool> Deal(const std::vector<UsableCore>& cores,
                       const PlacementRequest& request, Problems& problems) {
  const std::vector<Pool> pools = ChoosePools(cores, request);
  const std::vector<int> sizes = Sizes(pools, request.policy);
  const int size = LargestSize(sizes, request.num_processes);
  const bool even = request.policy != Policy::kPack;
  const std::vector<int> ranks =
      RanksPerPool(sizes, request.num_processes, size, even);
  if (request.remainder == Remainder::kError &&
      !DividesEvenly(sizes, ranks, size)) {
    Fail(problems,
         absl::StrCat(cores.size(), " cores cannot be divided evenly among ",
                      request.num_processes, " processes"),
         "", "use --remainder=give or --remainder=drop, or other numbers");
    return {};
  }
  std::vector<Pool> pieces;
  for (size_t i = 0; i < pools.size(); ++i) {
    for (Pool& piece : Cut(pools[i], ranks[i], size, request)) {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

// Checks what Deal relies on.
bool CanServe(const std::vector<UsableCore>& cores,
              const PlacementRequest& request, Problems& problems) {
  const size_t before = problems.size();
  const int ranks = request.num_processes;
  const int units = CountUnits(cores, request.policy);
  const char* what =
      request.policy == Policy::kL3 ? "last-level caches" : "physical cores";
  if (ranks > units) {
    Fail(problems,
         absl::StrCat(ranks, " processes need ", ranks, " ", what, ", but ",
                      units, " can be used"),
         absl::StrCat("allowed CPUs without the ", request.reserve_cores,
                      " reserved cores"),
         absl::StrCat("ask for at most ", units, " processes"));
  }
  const int nodes = static_cast<int>(PoolsByNode(cores).size());
  if (request.policy == Policy::kNuma && ranks % std::max(nodes, 1) != 0) {
    Fail(problems,
         absl::StrCat("policy numa needs a multiple of ", nodes,
                      " processes (the number of NUMA nodes with cores), "
                      "found ",
                      ranks),
         "", "change --num_processes, or use --policy=spread");
  }
  return problems.size() == before;
}

// The CPUs of a rank's cores that go into its mask.
CpuSet Mask(const Pool& cores, const PlacementRequest& request) {
  const bool all =
      request.smt != Smt::kSkip || request.policy == Policy::kExclusive;
  CpuSet mask;
  for (const UsableCore& core : cores) {
    if (all) {
      mask = mask.Union(CpuSet(core.cpus));
    } else {
      mask.insert(core.cpus.front());
    }
  }
  return mask;
}

int WithinQuota(int threads, const Topology& machine, int ranks) {
  if (!machine.quota_cpus) return threads;
  const int share = static_cast<int>(std::floor(*machine.quota_cpus / ranks));
  return std::clamp(share, 1, threads);
}

// Nodes of the rank that have memory which may be used; else those of its
// packages; else all that have some. Where no size is known, the rank's own.
std::vector<int> MemoryNodes(const Topology& machine,
                             const RankPlacement& rank) {
  std::set<int> own, package, all;
  for (const Package& p : machine.packages) {
    for (const NumaNode& node : p.numa_nodes) {
      if (node.memory_bytes == 0 || !machine.MayUseMemoryOf(node.id)) continue;
      all.insert(node.id);
      if (std::count(rank.packages.begin(), rank.packages.end(), p.id)) {
        package.insert(node.id);
      }
      if (std::count(rank.numa_nodes.begin(), rank.numa_nodes.end(), node.id)) {
        own.insert(node.id);
      }
    }
  }
  if (all.empty()) return rank.numa_nodes;
  const std::set<int>& nodes =
      !own.empty() ? own : (!package.empty() ? package : all);
  return {nodes.begin(), nodes.end()};
}

// Ranks use the GPUs in their order: each piece goes to the rank whose GPU lies
// on its node, as far as there is one.
void OrderByGpus(const std::vector<Gpu>& gpus, std::vector<Pool>& pieces) {
  for (size_t rank = 0; rank < std::min(gpus.size(), pieces.size()); ++rank) {
    const auto near =
        std::find_if(pieces.begin() + static_cast<ptrdiff_t>(rank),
                     pieces.end(), [&](const Pool& piece) {
                       return piece.front().numa_node == gpus[rank].numa_node;
                     });
    if (near == pieces.end()) continue;
    std::rotate(pieces.begin() + static_cast<ptrdiff_t>(rank), near, near + 1);
  }
}

RankPlacement Describe(int rank, const Pool& cores, const Topology& machine,
                       const PlacementRequest& request) {
  RankPlacement result = {.rank = rank, .cpus = Mask(cores, request)};
  std::set<int> packages, nodes;
  for (const UsableCore& core : cores) {
    packages.insert(core.package);
    nodes.insert(core.numa_node);
  }
  result.packages.assign(packages.begin(), packages.end());
  result.numa_nodes.assign(nodes.begin(), nodes.end());
  result.memory_nodes = MemoryNodes(machine, result);
  result.straddles = packages.size() > 1;
  const bool thread_per_cpu = request.smt == Smt::kKeep;
  const int threads =
      thread_per_cpu ? result.cpus.size() : static_cast<int>(cores.size());
  result.threads = WithinQuota(threads, machine, request.num_processes);
  if (rank < static_cast<int>(machine.gpus.size())) {
    result.gpu = machine.gpus[static_cast<size_t>(rank)].index;
  }
  return result;
}

// Why each CPU that no mask has is free.
std::vector<UnusedCpu> Unused(const Topology& machine,
                              const std::vector<Pool>& dealt,
                              const Placement& placement, int reserve) {
  CpuSet used, of_used_cores, usable;
  for (const RankPlacement& rank : placement.ranks) {
    used = used.Union(rank.cpus);
  }
  for (const Pool& cores : dealt) {
    for (const UsableCore& core : cores) {
      of_used_cores = of_used_cores.Union(CpuSet(core.cpus));
    }
  }
  for (const UsableCore& core : UsableCores(machine, reserve)) {
    usable = usable.Union(CpuSet(core.cpus));
  }
  std::vector<UnusedCpu> unused;
  for (int cpu : machine.AllCpus().Difference(used)) {
    const char* reason = !machine.allowed_cpus.contains(cpu) ? "not_allowed"
                         : of_used_cores.contains(cpu)       ? "smt"
                         : !usable.contains(cpu)             ? "reserved"
                                                             : "remainder";
    unused.push_back({cpu, reason});
  }
  return unused;
}

// The cores that explicit lists name, as far as those CPUs go.
std::vector<Pool> CoresOfLists(const Topology& machine,
                               const std::vector<CpuSet>& lists) {
  std::vector<Pool> result;
  for (const CpuSet& list : lists) {
    Pool cores;
    for (UsableCore core : UsableCores(machine, 0)) {
      core.cpus = CpuSet(core.cpus).Intersection(list).ToVector();
      if (!core.cpus.empty()) cores.push_back(std::move(core));
    }
    result.push_back(std::move(cores));
  }
  return result;
}

}  // namespace

std::optional<Placement> Place(const Topology& machine,
                               const PlacementRequest& original,
                               Problems& problems) {
  PlacementRequest request = original;
  if (request.num_processes == 0) {
    request.num_processes = AdvisedProcesses(machine, request.reserve_cores);
  }
  std::vector<Pool> dealt;
  if (!request.cpu_for_each_process.empty()) {
    if (!CheckLists(machine, request, problems)) return std::nullopt;
    // A list is taken at its word: every CPU in it runs a thread.
    request.smt = Smt::kKeep;
    request.reserve_cores = 0;
    dealt = CoresOfLists(machine, request.cpu_for_each_process);
  } else {
    const std::vector<UsableCore> cores =
        UsableCores(machine, request.reserve_cores);
    if (!CanServe(cores, request, problems)) return std::nullopt;
    dealt = Deal(cores, request, problems);
    if (dealt.empty()) return std::nullopt;
    OrderByGpus(machine.gpus, dealt);
  }
  Placement placement;
  for (size_t i = 0; i < dealt.size(); ++i) {
    placement.ranks.push_back(
        Describe(static_cast<int>(i), dealt[i], machine, request));
  }
  placement.unused = Unused(machine, dealt, placement, request.reserve_cores);
  return placement;
}

Placement PlaceUnbound(const Topology& machine, int num_processes) {
  const std::vector<UsableCore> cores = UsableCores(machine, 0);
  const PlacementRequest request = {.num_processes = num_processes,
                                    .smt = Smt::kPair};
  const int share = static_cast<int>(cores.size()) / num_processes;
  Placement placement;
  for (int rank = 0; rank < num_processes; ++rank) {
    placement.ranks.push_back(Describe(rank, cores, machine, request));
    int& threads = placement.ranks.back().threads;
    threads = std::clamp(share, 1, threads);
  }
  placement.unused = Unused(machine, {cores}, placement, 0);
  return placement;
}

int AdvisedProcesses(const Topology& machine, int reserve_cores) {
  constexpr int kAdvisedCores = 7;
  const std::vector<UsableCore> cores = UsableCores(machine, reserve_cores);
  const std::vector<Pool> packages = PoolsByPackage(cores);
  if (packages.empty()) return 1;
  size_t smallest = packages.front().size();
  for (const Pool& pool : packages) smallest = std::min(smallest, pool.size());
  const int per_package = static_cast<int>(smallest);
  int each = std::min(kAdvisedCores, per_package);
  while (per_package % each != 0) ++each;
  int processes = 0;
  for (const Pool& pool : packages) {
    processes += static_cast<int>(pool.size()) / each;
  }
  return processes;
}

}  // namespace slipway::launcher
