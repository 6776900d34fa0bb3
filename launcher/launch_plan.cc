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

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

class Planner {
 public:
  Planner(const LaunchFlags& flags, const Topology& machine,
          const Training* training)
      : flags_(flags), machine_(machine), training_(training) {}

  // Errors are among the problems of what it returns.
  LaunchPlan Run() {
    plan_.host = HostName();
    plan_.policy = flags_.placement.policy;
    if (training_ != nullptr) plan_.batch = training_->batch;
    PlaceRanks();
    DescribeEnvironment();
    ResolvePlugins();
    NoteQuota();
    return std::move(plan_);
  }

 private:
  // 0: as many as the machine suggests.
  int Processes() {
    switch (flags_.processes.from) {
      case ProcessCount::From::kNumber:
        return flags_.processes.number;
      case ProcessCount::From::kAuto:
        return 0;
      case ProcessCount::From::kRecipe:
        return ProcessesOfRecipe();
      case ProcessCount::From::kDefault:
        break;
    }
    const auto lists = flags_.placement.cpu_for_each_process.size();
    return lists == 0 ? 1 : static_cast<int>(lists);
  }

  int ProcessesOfRecipe() {
    if (training_ == nullptr) {
      plan_.problems.push_back(
          OnCommandLine("--num_processes=recipe without a recipe",
                        "give the trainer's flags: -- --recipe=..."));
      return 1;
    }
    if (training_->processes_asked > 0) return training_->processes_asked;
    return static_cast<int>(machine_.gpus.size());
  }

  void PlaceRanks() {
    PlacementRequest request = flags_.placement;
    request.num_processes = Processes();
    if (HasErrors(plan_.problems)) return;
    if (flags_.bind == BindMode::kNone &&
        request.cpu_for_each_process.empty()) {
      if (request.num_processes == 0) {
        request.num_processes = AdvisedProcesses(machine_);
      }
      plan_.placement = PlaceUnbound(machine_, request.num_processes);
      return;
    }
    std::optional<Placement> placement =
        Place(machine_, request, plan_.problems);
    if (placement) plan_.placement = *std::move(placement);
  }

  // A recipe that asks for several processes has its rate set for them.
  bool AutoLr() const {
    return flags_.auto_lr &&
           (training_ == nullptr || training_->processes_asked == 1);
  }

  void DescribeEnvironment() {
    EnvironmentRequest& request = plan_.environment;
    const char* preload = std::getenv("LD_PRELOAD");
    request.allocator = flags_.allocator;
    request.allocator_library = FindAllocator(flags_.allocator, plan_.problems);
    request.world_size = plan_.world_size();
    request.local_world_size = plan_.world_size();
    request.master_addr = flags_.master_addr;
    request.auto_lr = AutoLr();
    // The trainer's threads always sleep while they wait: they share their
    // cores with the data pipeline.
    request.shared_cores = training_ != nullptr || SharesCores();
    request.user_preload = preload == nullptr ? "" : preload;
  }

  bool SharesCores() const {
    const bool unbound =
        flags_.bind == BindMode::kNone && plan_.world_size() > 1;
    return unbound || Threads() > Quota();
  }

  int Threads() const {
    int threads = 0;
    for (const RankPlacement& rank : plan_.placement.ranks) {
      threads += rank.threads;
    }
    return threads;
  }

  double Quota() const { return machine_.quota_cpus.value_or(HUGE_VAL); }

  void ResolvePlugins() {
    if (training_ == nullptr || plan_.placement.ranks.empty()) return;
    plan_.plugins = PlanPlugins(*training_,
                                {.world_size = plan_.world_size(),
                                 .auto_lr = plan_.environment.auto_lr},
                                plan_.problems);
    if (plan_.plugins) plan_.environment.plan_hash = plan_.plugins->hash;
  }

  void NoteQuota() {
    if (!machine_.quota_cpus || plan_.placement.ranks.empty()) return;
    const std::string quota =
        absl::StrFormat("a cgroup's quota of %.2f CPUs", Quota());
    int cpus = 0;
    for (const RankPlacement& rank : plan_.placement.ranks) {
      cpus += rank.cpus.size();
    }
    Problem note = {.kind = "value"};
    if (Threads() > Quota()) {
      note.severity = Severity::kWarning;
      note.message = absl::StrCat(plan_.world_size(), " ranks share ", quota);
      note.hint = "use fewer processes, or a larger quota (cpu.max)";
    } else if (Threads() < cpus) {
      note.severity = Severity::kNote;
      note.message = absl::StrCat("the ranks run ", Threads(), " threads on ",
                                  cpus, " CPUs: ", quota, " holds");
    } else {
      return;
    }
    plan_.problems.push_back(std::move(note));
  }

  const LaunchFlags& flags_;
  const Topology& machine_;
  const Training* const training_;
  LaunchPlan plan_;
};

}  // namespace

std::optional<LaunchPlan> MakeLaunchPlan(const LaunchFlags& flags,
                                         const Topology& machine,
                                         const Training* training,
                                         Problems& problems) {
  LaunchPlan plan = Planner(flags, machine, training).Run();
  if (!HasErrors(plan.problems)) return plan;
  problems.insert(problems.end(), plan.problems.begin(), plan.problems.end());
  return std::nullopt;
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
