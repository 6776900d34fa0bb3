// What every placement promises, on machines that nobody thought of.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "launcher/placement/placement.h"
#include "launcher/topology/topology.h"

namespace slipway::launcher {
namespace {

using Random = std::mt19937;

int Pick(Random& random, int first, int last) {
  return std::uniform_int_distribution<int>(first, last)(random);
}

std::string Description(Random& random) {
  const char* numberings[] = {"", "(indexes=core:pack)", "(indexes=pack:core)"};
  const int nodes = Pick(random, 1, 3);
  return absl::StrCat(
      "pack:", Pick(random, 1, 4),
      nodes == 1 ? std::string(" [numa]") : absl::StrCat(" numa:", nodes),
      " l3:", Pick(random, 1, 2), " core:", Pick(random, 1, 9),
      " pu:", Pick(random, 1, 2), numberings[Pick(random, 0, 2)]);
}

// Some of its CPUs are not allowed, on some machines.
Topology Machine(Random& random, const std::string& description) {
  Topology machine = *ReadTopology({.topology = description});
  const int percent = Pick(random, 0, 1) * Pick(random, 1, 60);
  CpuSet allowed;
  for (int cpu : machine.AllCpus()) {
    if (Pick(random, 1, 100) > percent) allowed.insert(cpu);
  }
  if (!allowed.empty()) machine.allowed_cpus = allowed;
  return machine;
}

PlacementRequest Request(Random& random) {
  return {.num_processes = Pick(random, 1, 12),
          .policy = static_cast<Policy>(Pick(random, 0, 4)),
          .smt = static_cast<Smt>(Pick(random, 0, 2)),
          .remainder = static_cast<Remainder>(Pick(random, 0, 1)),
          .reserve_cores = Pick(random, 0, 3) == 0 ? 1 : 0,
          .allow_straddle = Pick(random, 0, 3) == 0};
}

// A machine's cores by their CPUs.
struct CoreMap {
  explicit CoreMap(const Topology& machine) {
    for (const Package& package : machine.packages) {
      for (const NumaNode& node : package.numa_nodes) {
        for (const CacheGroup& group : node.l3) {
          for (const Core& core : group.cores) {
            for (int cpu : core.cpus) {
              const auto index = static_cast<size_t>(cpu);
              if (of_cpu.size() <= index) of_cpu.resize(index + 1);
              of_cpu[index] = core.id;
            }
          }
        }
      }
    }
  }
  int Count(const CpuSet& cpus) const {
    std::set<int> cores;
    for (int cpu : cpus) cores.insert(of_cpu[static_cast<size_t>(cpu)]);
    return static_cast<int>(cores.size());
  }
  std::vector<int> of_cpu;
};

class Promises {
 public:
  Promises(const Topology& machine, const PlacementRequest& request,
           const Placement& placement)
      : machine_(machine), request_(request), placement_(placement) {}

  void Check() {
    ASSERT_EQ(static_cast<int>(placement_.ranks.size()),
              request_.num_processes);
    CheckRanks();
    CheckSizes();
    CheckUnused();
  }

 private:
  void CheckRanks() {
    for (const RankPlacement& rank : placement_.ranks) {
      EXPECT_FALSE(rank.cpus.empty());
      EXPECT_TRUE(used_.Intersection(rank.cpus).empty()) << "ranks overlap";
      EXPECT_EQ(rank.cpus.Difference(machine_.allowed_cpus), CpuSet());
      EXPECT_TRUE(request_.allow_straddle || !rank.straddles);
      EXPECT_EQ(rank.straddles, rank.packages.size() > 1);
      EXPECT_FALSE(rank.memory_nodes.empty());
      EXPECT_GE(rank.threads, 1);
      EXPECT_LE(rank.threads, rank.cpus.size());
      used_ = used_.Union(rank.cpus);
    }
  }

  // By whole caches, sizes are as unequal as those are.
  void CheckSizes() {
    if (request_.policy == Policy::kL3) return;
    const CoreMap cores(machine_);
    int smallest = CpuSet::kMaxCpus;
    int largest = 0;
    for (const RankPlacement& rank : placement_.ranks) {
      smallest = std::min(smallest, cores.Count(rank.cpus));
      largest = std::max(largest, cores.Count(rank.cpus));
    }
    EXPECT_LE(largest - smallest, 1);
  }

  void CheckUnused() {
    CpuSet explained = used_;
    for (const UnusedCpu& cpu : placement_.unused) {
      EXPECT_FALSE(explained.contains(cpu.cpu)) << cpu.cpu;
      EXPECT_EQ(cpu.reason == "not_allowed",
                !machine_.allowed_cpus.contains(cpu.cpu));
      explained.insert(cpu.cpu);
    }
    EXPECT_EQ(explained, machine_.AllCpus());
  }

  const Topology& machine_;
  const PlacementRequest& request_;
  const Placement& placement_;
  CpuSet used_;
};

TEST(RandomMachines, KeepEveryPromise) {
  Random random(20240501);
  int placed = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string description = Description(random);
    const Topology machine = Machine(random, description);
    const PlacementRequest request = Request(random);
    SCOPED_TRACE(absl::StrCat(i, ": ", description, ", allowed ",
                              machine.allowed_cpus.ToString(), ", ",
                              request.num_processes, " ranks, policy ",
                              static_cast<int>(request.policy)));
    Problems problems;
    const auto placement = Place(machine, request, problems);
    ASSERT_EQ(placement.has_value(), problems.empty());
    if (!placement) continue;
    ++placed;
    Promises(machine, request, *placement).Check();
    EXPECT_EQ(FormatPlacement(*placement),
              FormatPlacement(*Place(machine, request, problems)));
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, 1000);
}

// A rank that could be as large within one node keeps to it.
TEST(RandomMachines, KeepRanksWithinNodes) {
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const int nodes = Pick(random, 1, 3);
    const int packages = Pick(random, 1, 3);
    const int cores = Pick(random, 1, 6);
    const Topology machine = *ReadTopology(
        {.topology = absl::StrCat("pack:", packages, " numa:", nodes,
                                  " core:", cores, " pu:1")});
    Problems problems;
    const auto placement = Place(
        machine, {.num_processes = nodes * packages * Pick(random, 1, cores)},
        problems);
    ASSERT_TRUE(placement) << FormatProblems(problems);
    for (const RankPlacement& rank : placement->ranks) {
      EXPECT_EQ(rank.numa_nodes.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
