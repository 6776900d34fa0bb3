#include "launcher/launch_plan.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::launcher {
namespace {

Problem OnCommandLine(std::string message, std::string hint) {
  return {.kind = "value",
          .message = std::move(message),
          .where = {{.file = "command line"}},
          .hint = std::move(hint)};
}

class Planner {
 public:
  Planner(const LaunchFlags& flags, const std::vector<NodeMachine>& machines,
          const Training* training)
      : flags_(flags), machines_(machines), training_(training) {}

  // Errors are among the problems of what it returns.
  LaunchPlan Run() {
    plan_.policy = flags_.placement.policy;
    if (training_ != nullptr) plan_.batch = training_->batch;
    for (const NodeMachine& machine : machines_) {
      plan_.nodes.push_back({.host = machine.host});
      PlaceRanks(machine, plan_.nodes.back().placement);
    }
    DescribeEnvironments();
    ResolvePlugins();
    for (size_t i = 0; i < machines_.size(); ++i) {
      NoteQuota(machines_[i].topology, plan_.nodes[i].placement);
    }
    return std::move(plan_);
  }

 private:
  int Processes(const NodeMachine& machine) {
    if (machine.ranks) return *machine.ranks;
    return ProcessesAsked(flags_, training_,
                          static_cast<int>(machine.topology.gpus.size()),
                          plan_.problems);
  }

  void PlaceRanks(const NodeMachine& machine, Placement& place) {
    PlacementRequest request = flags_.placement;
    request.num_processes = Processes(machine);
    if (HasErrors(plan_.problems)) return;
    std::vector<CpuSet>& lists = request.cpu_for_each_process;
    const auto ranks = static_cast<size_t>(request.num_processes);
    if (machine.ranks && lists.size() > ranks) lists.resize(ranks);
    if (flags_.bind == BindMode::kNone && lists.empty()) {
      if (request.num_processes == 0) {
        request.num_processes = AdvisedProcesses(machine.topology);
      }
      place = PlaceUnbound(machine.topology, request.num_processes);
      return;
    }
    std::optional<Placement> placement =
        Place(machine.topology, request, plan_.problems);
    if (placement) place = *std::move(placement);
  }

  // A recipe that asks for several processes has its rate set for them.
  bool AutoLr() const {
    return flags_.auto_lr &&
           (training_ == nullptr || training_->processes_asked == 1);
  }

  void DescribeEnvironments() {
    EnvironmentRequest common;
    const char* preload = std::getenv("LD_PRELOAD");
    common.allocator = flags_.allocator;
    common.allocator_library = FindAllocator(flags_.allocator, plan_.problems);
    common.world_size = plan_.world_size();
    common.master_addr = flags_.master_addr;
    common.auto_lr = AutoLr();
    common.user_preload = preload == nullptr ? "" : preload;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      NodePlan& node = plan_.nodes[i];
      node.environment = common;
      node.environment.group_rank = static_cast<int>(i);
      node.environment.local_world_size =
          static_cast<int>(node.placement.ranks.size());
      // The trainer's threads always sleep while they wait: they share their
      // cores with the data pipeline.
      node.environment.shared_cores =
          training_ != nullptr ||
          SharesCores(machines_[i].topology, node.placement);
      common.first_rank += node.environment.local_world_size;
    }
  }

  bool SharesCores(const Topology& machine, const Placement& placement) const {
    const bool unbound =
        flags_.bind == BindMode::kNone && placement.ranks.size() > 1;
    return unbound || Threads(placement) > Quota(machine);
  }

  static int Threads(const Placement& placement) {
    int threads = 0;
    for (const RankPlacement& rank : placement.ranks) threads += rank.threads;
    return threads;
  }

  static double Quota(const Topology& machine) {
    return machine.quota_cpus.value_or(HUGE_VAL);
  }

  void ResolvePlugins() {
    if (training_ == nullptr || plan_.world_size() == 0) return;
    plan_.plugins = PlanPlugins(
        *training_, {.world_size = plan_.world_size(), .auto_lr = AutoLr()},
        plan_.problems);
    if (!plan_.plugins) return;
    for (NodePlan& node : plan_.nodes) {
      node.environment.plan_hash = plan_.plugins->hash;
    }
  }

  void NoteQuota(const Topology& machine, const Placement& placement) {
    if (!machine.quota_cpus || placement.ranks.empty()) return;
    const std::string quota =
        absl::StrFormat("a cgroup's quota of %.2f CPUs", Quota(machine));
    int cpus = 0;
    for (const RankPlacement& rank : placement.ranks) cpus += rank.cpus.size();
    const int threads = Threads(placement);
    Problem note = {.kind = "value"};
    if (threads > Quota(machine)) {
      note.severity = Severity::kWarning;
      note.message =
          absl::StrCat(placement.ranks.size(), " ranks share ", quota);
      note.hint = "use fewer processes, or a larger quota (cpu.max)";
    } else if (threads < cpus) {
      note.severity = Severity::kNote;
      note.message = absl::StrCat("the ranks run ", threads, " threads on ",
                                  cpus, " CPUs: ", quota, " holds");
    } else {
      return;
    }
    plan_.problems.push_back(std::move(note));
  }

  const LaunchFlags& flags_;
  const std::vector<NodeMachine>& machines_;
  const Training* const training_;
  LaunchPlan plan_;
};

}  // namespace

int LaunchPlan::world_size() const {
  size_t ranks = 0;
  for (const NodePlan& node : nodes) ranks += node.placement.ranks.size();
  return static_cast<int>(ranks);
}

const NodePlan& LaunchPlan::NodeOf(int rank) const {
  auto node = nodes.begin();
  for (; static_cast<size_t>(rank) >= node->placement.ranks.size(); ++node) {
    rank -= static_cast<int>(node->placement.ranks.size());
  }
  return *node;
}

const RankPlacement& LaunchPlan::PlacementOf(int rank) const {
  const NodePlan& node = NodeOf(rank);
  return node.placement
      .ranks[static_cast<size_t>(rank - node.environment.first_rank)];
}

std::optional<LaunchPlan> MakeLaunchPlan(
    const LaunchFlags& flags, const std::vector<NodeMachine>& machines,
    const Training* training, Problems& problems) {
  LaunchPlan plan = Planner(flags, machines, training).Run();
  if (!HasErrors(plan.problems)) return plan;
  problems.insert(problems.end(), plan.problems.begin(), plan.problems.end());
  return std::nullopt;
}

std::optional<LaunchPlan> MakeLaunchPlan(const LaunchFlags& flags,
                                         const Topology& machine,
                                         const Training* training,
                                         Problems& problems) {
  return MakeLaunchPlan(
      flags, std::vector<NodeMachine>{{HostName(), machine, std::nullopt}},
      training, problems);
}

int ProcessesAsked(const LaunchFlags& flags, const Training* training, int gpus,
                   Problems& problems) {
  switch (flags.processes.from) {
    case ProcessCount::From::kNumber:
      return flags.processes.number;
    case ProcessCount::From::kAuto:
      return 0;
    case ProcessCount::From::kRecipe:
      if (training == nullptr) {
        problems.push_back(
            OnCommandLine("--num_processes=recipe without a recipe",
                          "give the trainer's flags: -- --recipe=..."));
        return 1;
      }
      return training->processes_asked > 0 ? training->processes_asked : gpus;
    case ProcessCount::From::kDefault:
      break;
  }
  const auto lists = flags.placement.cpu_for_each_process.size();
  return lists == 0 ? 1 : static_cast<int>(lists);
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string_view Name(Policy policy) {
  switch (policy) {
    case Policy::kSpread:
      return "spread";
    case Policy::kPack:
      return "pack";
    case Policy::kNuma:
      return "numa";
    case Policy::kL3:
      return "l3";
    case Policy::kExclusive:
      return "exclusive";
  }
  return "";
}

}  // namespace slipway::launcher
