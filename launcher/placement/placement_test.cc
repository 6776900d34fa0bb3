#include "launcher/placement/placement.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using ::testing::HasSubstr;

// Two packages of four cores with two hardware threads, in the three ways in
// which machines number them.
constexpr char kIntel[] = "pack:2 [numa] core:4 pu:2(indexes=core:pack)";
constexpr char kAdjacent[] = "pack:2 [numa] core:4 pu:2";
constexpr char kRoundRobin[] = "pack:2 [numa] core:4 pu:2(indexes=pack:core)";
constexpr char kSubNuma[] = "pack:2 numa:2 core:3 pu:1";
constexpr char kCaches[] = "pack:1 [numa] l3:4 core:4 pu:1";

Topology Machine(const std::string& description) {
  absl::StatusOr<Topology> machine = ReadTopology({.topology = description});
  EXPECT_TRUE(machine.ok()) << machine.status();
  return *machine;
}

// "0-3 4-7 | remainder 8-9": the masks, then what is unused.
std::string Summary(const Topology& machine, const PlacementRequest& request) {
  Problems problems;
  const std::optional<Placement> placement = Place(machine, request, problems);
  if (!placement) return FormatProblems(problems);
  std::vector<std::string> masks;
  for (const RankPlacement& rank : placement->ranks) {
    masks.push_back(rank.cpus.ToString());
  }
  std::string text = absl::StrJoin(masks, " ");
  for (const char* reason : {"remainder", "reserved", "not_allowed"}) {
    CpuSet cpus;
    for (const UnusedCpu& unused : placement->unused) {
      if (unused.reason == reason) cpus.insert(unused.cpu);
    }
    if (!cpus.empty())
      absl::StrAppend(&text, " | ", reason, " ", cpus.ToString());
  }
  return text;
}

struct Case {
  const char* name;
  const char* machine;
  PlacementRequest request;
  const char* expected;
};

TEST(Place, KnowsEveryNumberingOfCpus) {
  const Case cases[] = {
      {"intel, 2", kIntel, {.num_processes = 2}, "0-3 4-7"},
      {"intel, 4", kIntel, {.num_processes = 4}, "0-1 2-3 4-5 6-7"},
      {"adjacent, 2", kAdjacent, {.num_processes = 2}, "0,2,4,6 8,10,12,14"},
      {"round robin, 2", kRoundRobin, {.num_processes = 2}, "0,2,4,6 1,3,5,7"},
      {"both threads",
       kAdjacent,
       {.num_processes = 2, .smt = Smt::kKeep},
       "0-7 8-15"},
      {"exclusive",
       kIntel,
       {.num_processes = 2, .policy = Policy::kExclusive},
       "0-3,8-11 4-7,12-15"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Summary(Machine(c.machine), c.request), c.expected) << c.name;
  }
}

TEST(Place, NeverSpansPackagesUnlessAllowed) {
  const Case cases[] = {
      // BigDL-Nano cuts the second rank across both packages here.
      {"three ranks",
       kIntel,
       {.num_processes = 3},
       "0-1 2-3 4-6 | remainder 7,15"},
      {"five ranks", kIntel, {.num_processes = 5}, "0-1 2 3 4-5 6-7"},
      {"one rank", kIntel, {.num_processes = 1}, "0-3 | remainder 4-7,12-15"},
      {"one rank, allowed",
       kIntel,
       {.num_processes = 1, .allow_straddle = true},
       "0-7"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Summary(Machine(c.machine), c.request), c.expected) << c.name;
  }
}

TEST(Place, KeepsNodesWholeWhereThatCostsNoCore) {
  EXPECT_EQ(Summary(Machine(kSubNuma), {.num_processes = 4}),
            "0-2 3-5 6-8 9-11");
  EXPECT_EQ(Summary(Machine(kSubNuma), {.num_processes = 2}), "0-5 6-11");
  EXPECT_EQ(
      Summary(Machine(kSubNuma), {.num_processes = 4, .policy = Policy::kNuma}),
      "0-2 3-5 6-8 9-11");
}

TEST(Place, FollowsThePolicy) {
  EXPECT_EQ(
      Summary(Machine(kIntel), {.num_processes = 3, .policy = Policy::kPack}),
      "0-1 2-3 4-6 | remainder 7,15");
  EXPECT_EQ(Summary(Machine("pack:2 [numa] core:8 pu:1"),
                    {.num_processes = 2, .policy = Policy::kPack}),
            "0-7 8-15");
  EXPECT_EQ(
      Summary(Machine(kCaches), {.num_processes = 2, .policy = Policy::kL3}),
      "0-7 8-15");
  EXPECT_EQ(
      Summary(Machine(kCaches), {.num_processes = 3, .policy = Policy::kL3}),
      "0-7 8-11 12-15");
}

TEST(Place, TreatsRemaindersAsAsked) {
  constexpr char kSeven[] = "pack:1 [numa] core:7 pu:1";
  EXPECT_EQ(Summary(Machine(kSeven), {.num_processes = 3}), "0-2 3-4 5-6");
  EXPECT_EQ(Summary(Machine(kSeven),
                    {.num_processes = 3, .remainder = Remainder::kDrop}),
            "0-1 2-3 4-5 | remainder 6");
  EXPECT_THAT(Summary(Machine(kSeven),
                      {.num_processes = 3, .remainder = Remainder::kError}),
              HasSubstr("7 cores cannot be divided evenly among 3 processes"));
}

TEST(Place, ReservesTheFirstCores) {
  EXPECT_EQ(Summary(Machine("pack:1 [numa] core:8 pu:1"),
                    {.num_processes = 2, .reserve_cores = 2}),
            "2-4 5-7 | reserved 0-1");
}

TEST(Place, StaysInsideTheAllowedSet) {
  Topology machine = Machine(kIntel);
  // The second hardware thread of some cores only.
  machine.allowed_cpus = {2, 3, 10, 11, 12};
  EXPECT_EQ(Summary(machine, {.num_processes = 3}),
            "2 3 12 | not_allowed 0-1,4-9,13-15");
  EXPECT_THAT(
      Summary(machine, {.num_processes = 4}),
      HasSubstr("4 processes need 4 physical cores, but 3 can be used"));
}

TEST(Place, ExplainsTheSecondThreads) {
  Problems problems;
  const auto placement = Place(Machine(kIntel), {.num_processes = 2}, problems);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->unused.size(), 8u);
  EXPECT_EQ(placement->unused[0].reason, "smt");
}

TEST(Place, CountsThreads) {
  Topology machine = Machine(kIntel);
  Problems problems;
  const auto threads = [&](Smt smt) {
    return Place(machine, {.num_processes = 2, .smt = smt}, problems)
        ->ranks[0]
        .threads;
  };
  EXPECT_EQ(threads(Smt::kSkip), 4);
  EXPECT_EQ(threads(Smt::kPair), 4);
  EXPECT_EQ(threads(Smt::kKeep), 8);
  machine.quota_cpus = 5.5;
  EXPECT_EQ(threads(Smt::kSkip), 2);
  machine.quota_cpus = 0.5;
  EXPECT_EQ(threads(Smt::kSkip), 1);
}

TEST(Place, PutsMemoryOnNodesThatHaveSome) {
  Topology machine = Machine(kSubNuma);
  machine.packages[0].numa_nodes[0].memory_bytes = 0;
  Problems problems;
  const auto placement = Place(machine, {.num_processes = 4}, problems);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->ranks[0].numa_nodes, std::vector<int>({0}));
  EXPECT_EQ(placement->ranks[0].memory_nodes, std::vector<int>({1}));
  EXPECT_EQ(placement->ranks[3].memory_nodes, std::vector<int>({3}));
}

TEST(Place, PutsNoMemoryWhereTheCgroupForbidsIt) {
  Topology machine = Machine(kSubNuma);
  machine.allowed_memory = CpuSet({1});
  Problems problems;
  const auto placement = Place(machine, {.num_processes = 4}, problems);
  ASSERT_TRUE(placement);
  for (const RankPlacement& rank : placement->ranks) {
    EXPECT_EQ(rank.memory_nodes, std::vector<int>({1}));
  }
}

TEST(PlaceUnbound, SharesAllCores) {
  Topology machine = Machine(kIntel);
  machine.allowed_cpus = {0, 1, 2, 8, 9};
  for (const auto& [ranks, threads] :
       {std::pair(1, 3), std::pair(2, 1), std::pair(9, 1)}) {
    const Placement placement = PlaceUnbound(machine, ranks);
    ASSERT_EQ(static_cast<int>(placement.ranks.size()), ranks);
    EXPECT_EQ(placement.ranks.back().cpus, machine.allowed_cpus);
    EXPECT_EQ(placement.ranks.back().threads, threads);
    EXPECT_EQ(placement.ranks.back().rank, ranks - 1);
  }
}

TEST(Place, PutsRanksOnTheNodesOfTheirGpus) {
  Topology machine = Machine(kIntel);
  machine.gpus = {{.index = 0, .numa_node = 1},
                  {.index = 1, .numa_node = 0},
                  {.index = 2, .numa_node = -1}};
  EXPECT_EQ(Summary(machine, {.num_processes = 2}), "4-7 0-3");
  EXPECT_EQ(Summary(machine, {.num_processes = 4}), "4-5 0-1 2-3 6-7");
}

TEST(Place, TakesExplicitListsAtTheirWord) {
  EXPECT_EQ(
      Summary(Machine("pack:1 [numa] core:4 pu:1"),
              {.num_processes = 2, .cpu_for_each_process = {{0, 1, 2}, {3}}}),
      "0-2 3");
}

TEST(Place, NamesEveryMistakeOfExplicitLists) {
  Topology machine = Machine("pack:1 [numa] core:4 pu:1");
  machine.allowed_cpus = {0, 1, 2};
  Problems problems;
  EXPECT_FALSE(
      Place(machine,
            {.num_processes = 2, .cpu_for_each_process = {{0, 9}, {}, {0, 3}}},
            problems));
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("one list for each of 2 processes, found 3"));
  EXPECT_THAT(text, HasSubstr("list 0 (0,9) names CPU 9, which this machine "
                              "does not have"));
  EXPECT_THAT(text, HasSubstr("list 1 is empty"));
  EXPECT_THAT(text, HasSubstr("list 2 (0,3) names CPU 3, which this process "
                              "may not use"));
  EXPECT_THAT(text, HasSubstr("list 2 (0,3) shares CPU 0"));
}

TEST(Place, RefusesANumberOfProcessesThatNodesDoNotDivide) {
  EXPECT_THAT(
      Summary(Machine(kSubNuma), {.num_processes = 3, .policy = Policy::kNuma}),
      HasSubstr("multiple of 4"));
}

TEST(AdvisedProcesses, FollowsNanosAdvice) {
  // 7, 14 or 28 cores a process on 28-core packages: seven are enough.
  EXPECT_EQ(AdvisedProcesses(Machine("pack:2 [numa] core:28 pu:2")), 8);
  EXPECT_EQ(AdvisedProcesses(Machine("pack:2 [numa] core:20 pu:1")), 4);
  EXPECT_EQ(AdvisedProcesses(Machine("pack:2 [numa] core:4 pu:1")), 2);
  EXPECT_EQ(AdvisedProcesses(Machine("pack:1 [numa] core:2 pu:1")), 1);
}

TEST(ParseCpuLists, ReadsBothForms) {
  EXPECT_EQ(*ParseCpuLists("[[0,1],[2,3]]"),
            (std::vector<CpuSet>{{0, 1}, {2, 3}}));
  EXPECT_EQ(*ParseCpuLists("0-1;2-3"), (std::vector<CpuSet>{{0, 1}, {2, 3}}));
  for (const char* bad : {"[0,1]", "[[0,-1]]", "[[0]", "0-1;x", "[[1.5]]"}) {
    EXPECT_FALSE(ParseCpuLists(bad).ok()) << bad;
  }
}

// What the header promises, over many machines and requests.
TEST(Place, HoldsItsPromisesEverywhere) {
  const char* machines[] = {kIntel,
                            kAdjacent,
                            kRoundRobin,
                            kSubNuma,
                            kCaches,
                            "pack:1 [numa] core:1 pu:1",
                            "pack:4 [numa] core:5 pu:2",
                            "pack:2 numa:4 l3:1 core:7 pu:2",
                            "[numa] pack:2 core:6 pu:1"};
  for (const char* description : machines) {
    Topology machine = Machine(description);
    for (int forbidden : {-1, 0, 3}) {
      machine.allowed_cpus = machine.AllCpus().Difference(
          forbidden < 0 ? CpuSet() : CpuSet({forbidden, forbidden + 1}));
      for (int ranks = 1; ranks <= 9; ++ranks) {
        for (Policy policy : {Policy::kSpread, Policy::kPack}) {
          Problems problems;
          const auto placement = Place(
              machine, {.num_processes = ranks, .policy = policy}, problems);
          ASSERT_EQ(placement.has_value(), problems.empty());
          if (!placement) continue;
          const std::string where =
              absl::StrCat(description, ", ", ranks, " ranks\n",
                           FormatPlacement(*placement));
          CpuSet used;
          int smallest = CpuSet::kMaxCpus;
          int largest = 0;
          for (const RankPlacement& rank : placement->ranks) {
            EXPECT_TRUE(used.Intersection(rank.cpus).empty()) << where;
            EXPECT_TRUE(rank.cpus.Difference(machine.allowed_cpus).empty());
            EXPECT_FALSE(rank.straddles) << where;
            EXPECT_FALSE(rank.memory_nodes.empty()) << where;
            used = used.Union(rank.cpus);
            smallest = std::min(smallest, rank.cpus.size());
            largest = std::max(largest, rank.cpus.size());
          }
          EXPECT_GE(smallest, 1) << where;
          EXPECT_LE(largest - smallest, 1) << where;
          CpuSet explained = used;
          for (const UnusedCpu& cpu : placement->unused) {
            EXPECT_FALSE(explained.contains(cpu.cpu)) << where;
            explained.insert(cpu.cpu);
          }
          EXPECT_EQ(explained, machine.AllCpus()) << where;
        }
      }
    }
  }
}

TEST(FormatPlacement, PrintsATable) {
  Problems problems;
  const auto placement = Place(Machine(kIntel), {.num_processes = 3}, problems);
  ASSERT_TRUE(placement);
  EXPECT_EQ(
      FormatPlacement(*placement),
      "rank  CPUs                 package  node     memory   threads\n"
      "0     0-1                  0        0        0        2\n"
      "1     2-3                  0        0        0        2\n"
      "2     4-6                  1        1        1        3\n"
      "unused: 7,15 (remainder: no even share of them for every rank; see "
      "--remainder, --policy, --allow_straddle)\n"
      "unused: 8-14 (smt: further hardware threads of cores in use; see "
      "--smt)\n");
}

}  // namespace
}  // namespace slipway::launcher
