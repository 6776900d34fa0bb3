// What is planned for machines of every kind, among them those where
// BigDL-Nano, torchrun or PyTorch's run_cpu go wrong.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "launcher/launch_plan.h"
#include "launcher/topology/topology.h"
#include "tests/golden/golden.h"

namespace slipway::launcher {
namespace {

// Two packages of four cores with two hardware threads each.
constexpr char kIntel[] =
    "pack:2 [numa(memory=8GB)] core:4 pu:2(indexes=core:pack)";
constexpr char kAdjacent[] = "pack:2 [numa(memory=8GB)] core:4 pu:2";
constexpr char kRoundRobin[] =
    "pack:2 [numa(memory=8GB)] core:4 pu:2(indexes=pack:core)";
constexpr char kSubNuma[] = "pack:2 numa:2(memory=8GB) core:3 pu:1";

using Change = std::function<void(Topology&)>;

Change Allow(const CpuSet& cpus) {
  return [cpus](Topology& machine) { machine.allowed_cpus = cpus; };
}

Change Quota(double cpus) {
  return [cpus](Topology& machine) { machine.quota_cpus = cpus; };
}

// The last core of the machine's last node is not there.
void LoseACore(Topology& machine) {
  NumaNode& node = machine.packages.back().numa_nodes.back();
  node.l3.back().cores.pop_back();
  machine.allowed_cpus = machine.AllCpus();
}

// Memory without cores, as high-bandwidth memory or an expansion card shows it.
void AddMemoryOnlyNode(Topology& machine) {
  machine.packages[0].numa_nodes.push_back({.id = 9, .memory_bytes = 1 << 30});
}

void EmptyTheFirstNode(Topology& machine) {
  machine.packages[0].numa_nodes[0].memory_bytes = 0;
}

void CrossTheGpus(Topology& machine) {
  machine.gpus = {{.index = 0, .numa_node = 1}, {.index = 1, .numa_node = 0}};
}

struct Case {
  const char* why;
  std::string machine;
  std::vector<std::string> flags;
  Change change = nullptr;
};

std::vector<Case> Numberings() {
  return {
      {"Intel's numbering", kIntel, {"--num_processes=2"}},
      {"three ranks: Nano leaves two cores unused and says nothing",
       kIntel,
       {"--num_processes=3"}},
      {"five ranks: Nano leaves three cores unused",
       kIntel,
       {"--num_processes=5"}},
      {"siblings side by side, as in cloud machines: run_cpu uses half the "
       "cores of one package",
       kAdjacent,
       {"--num_processes=2"}},
      {"siblings side by side, three ranks", kAdjacent, {"--num_processes=3"}},
      {"packages in turns: both of Nano's ranks straddle them",
       kRoundRobin,
       {"--num_processes=2"}},
      {"packages in turns: all three of Nano's ranks straddle them",
       kRoundRobin,
       {"--num_processes=3"}},
      {"packages in turns, a rank a node: run_cpu gives each both nodes",
       kRoundRobin,
       {"--num_processes=2", "--policy=numa"}},
      {"sub-NUMA clusters", kSubNuma, {"--num_processes=4"}},
      {"sub-NUMA clusters, three ranks: Nano's second straddles packages",
       kSubNuma,
       {"--num_processes=3"}},
      {"nodes of 43, 43 and 42 cores",
       "pack:1 numa:3 core:43 pu:1",
       {"--num_processes=3"},
       LoseACore},
      {"more than ten nodes: run_cpu reads one digit of their numbers",
       "pack:12 [numa] core:2 pu:1",
       {"--num_processes=12", "--policy=numa"}},
  };
}

std::vector<Case> AllowedSets() {
  return {
      {"a cpuset of CPU 1 alone: Nano and run_cpu take CPU 0",
       "pack:1 [numa] core:2 pu:1",
       {"--num_processes=1"},
       Allow({1})},
      {"a cpuset in the middle of a package",
       kIntel,
       {"--num_processes=2"},
       Allow({2, 3, 10, 11})},
      {"a cpuset with too few cores",
       kIntel,
       {"--num_processes=3"},
       Allow({2, 3, 10, 11})},
      {"second hardware threads alone",
       kIntel,
       {"--num_processes=2"},
       Allow({8, 9, 10, 11, 12, 13, 14, 15})},
      {"whole and half cores",
       kAdjacent,
       {"--num_processes=2", "--smt=keep"},
       Allow({1, 2, 3, 4, 5, 8, 9, 10, 11, 12})},
      {"lists: run_cpu starts no instance at all",
       "pack:1 [numa] core:2 pu:1",
       {"--cpu_for_each_process=0;1"}},
      {"lists with every mistake: Nano takes them",
       "pack:1 [numa] core:4 pu:1",
       {"--num_processes=2", "--cpu_for_each_process=[[0,9],[],[0,3]]"},
       Allow({0, 1, 2})},
      {"both hardware threads: run_cpu gives a core's two to two instances",
       kIntel,
       {"--num_processes=2", "--smt=keep"}},
      {"both hardware threads in the mask, one thread a core",
       kIntel,
       {"--num_processes=2", "--smt=pair"}},
      {"exclusive", kIntel, {"--num_processes=2", "--policy=exclusive"}},
      {"memory without cores: torchrun fails",
       kIntel,
       {"--num_processes=2", "--policy=numa"},
       AddMemoryOnlyNode},
      {"cores without memory",
       kSubNuma,
       {"--num_processes=4"},
       EmptyTheFirstNode},
      {"as many as the machine suggests: seven cores each",
       "pack:2 [numa] core:28 pu:2(indexes=core:pack)",
       {"--num_processes=auto"}},
      {"a quota",
       "pack:1 [numa] core:8 pu:1",
       {"--num_processes=2"},
       Quota(3.5)},
      {"a quota smaller than the ranks",
       "pack:1 [numa] core:8 pu:1",
       {"--num_processes=2"},
       Quota(1)},
  };
}

std::vector<Case> Policies() {
  return {
      {"last-level caches",
       "pack:1 [numa] l3:8 core:4 pu:2",
       {"--num_processes=3", "--policy=l3"}},
      {"packed",
       "pack:4 [numa] core:4 pu:1",
       {"--num_processes=2", "--policy=pack"}},
      {"packages that do not divide",
       "pack:4 [numa] core:7 pu:1",
       {"--num_processes=6"}},
      {"a remainder dropped",
       "pack:1 [numa] core:7 pu:1",
       {"--num_processes=2", "--remainder=drop"}},
      {"a remainder refused",
       "pack:1 [numa] core:7 pu:1",
       {"--num_processes=2", "--remainder=error"}},
      {"cores for the system",
       "pack:1 [numa] core:8 pu:1",
       {"--num_processes=2", "--reserve_cores=2"}},
      {"one rank keeps to one package", kIntel, {}},
      {"one rank that may straddle", kIntel, {"--allow_straddle"}},
      {"one node over two packages",
       "[numa] pack:2 core:6 pu:1",
       {"--num_processes=2"}},
      {"a machine that shows no packages",
       "core:4 pu:1",
       {"--num_processes=2"}},
      {"a single core", "core:1 pu:1", {}},
      {"more ranks than cores", "core:2 pu:2", {"--num_processes=4"}},
      {"ranks that nodes do not divide",
       kSubNuma,
       {"--num_processes=3", "--policy=numa"}},
      {"GPUs on the other package's side",
       kIntel,
       {"--num_processes=2"},
       CrossTheGpus},
  };
}

std::string Plan(const Case& c) {
  Topology machine = *ReadTopology({.topology = c.machine});
  if (c.change) c.change(machine);
  std::vector<std::string> arguments = c.flags;
  arguments.insert(arguments.begin(), "plan");
  Problems problems;
  const LaunchFlags flags = ParseLaunchFlags(arguments, problems);
  const auto plan = MakeLaunchPlan(flags, machine, nullptr, problems);
  if (!plan) return FormatProblems(problems);
  return absl::StrCat(FormatPlacement(plan->nodes[0].placement),
                      FormatProblems(plan->problems));
}

TEST(GoldenPlans, AreWhatTheyWere) {
  std::string text;
  for (const auto& cases : {Numberings(), AllowedSets(), Policies()}) {
    for (const Case& c : cases) {
      absl::StrAppend(&text, "# ", c.why, "\n# ", c.machine);
      for (const std::string& flag : c.flags) absl::StrAppend(&text, " ", flag);
      absl::StrAppend(&text, "\n", Plan(c), "\n");
    }
  }
  ExpectGolden("tests/launcher/testdata/plans.golden", text);
}

}  // namespace
}  // namespace slipway::launcher
