// The launcher: starts the ranks of a training on cores of their own. See
// flags.cc for the command line.
//
// Exit codes: 0 all ranks are done; 2 nothing was started, for what is wrong
// with the command line, the recipe, the plan or the machine; else that of the
// first rank that failed (128 + signal). JSON of plan, topo and env goes to
// standard output, everything of the launcher's own else to standard error.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/agent/agent.h"
#include "launcher/calibrate/calibrate.h"
#include "launcher/environment/environment.h"
#include "launcher/flags.h"
#include "launcher/launch.h"
#include "launcher/launch_plan.h"
#include "launcher/ray/ray_backend.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/target.h"
#include "launcher/topology/topology.h"
#include "launcher/training.h"
#include "nlohmann/json.hpp"
#include "trainer/locations.h"
#include "trainer/recipe_request.h"
#include "trainer/run_folder.h"

namespace slipway::launcher {
namespace {

constexpr int kRefused = 2;

int Refuse(const Problems& problems) {
  std::cerr << FormatProblems(problems);
  return kRefused;
}

void Fail(const absl::Status& status, Problems& problems) {
  problems.push_back(
      {.kind = "value", .message = std::string(status.message())});
}

void Print(const nlohmann::ordered_json& document) {
  std::cout << document.dump(2, ' ', false,
                             nlohmann::json::error_handler_t::replace)
            << "\n";
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the commands need of the world around.
struct World {
  std::string executable = ExecutablePath();
  const char* runfiles = std::getenv("RUNFILES_DIR");
  Locations here = FindLocations(executable, runfiles);
};

// All that is decided before a launch.
struct Decision {
  std::optional<Topology> machine;
  std::optional<Target> target;
  std::optional<Training> training;
  std::optional<LaunchPlan> plan;
};

// What can be known of a plan for machines that have not been seen.
LaunchPlan PlanForRay(const LaunchFlags& flags, const Training* training,
                      Problems& problems) {
  LaunchPlan plan = {.backend = "ray", .policy = flags.placement.policy};
  const int ranks = ProcessesAsked(flags, training, 1, problems);
  if (training != nullptr && !HasErrors(problems)) {
    plan.plugins = PlanPlugins(
        *training, {.world_size = ranks, .auto_lr = flags.auto_lr}, problems);
  }
  return plan;
}

// Finds everything that is wrong at once: with the machine, the program, the
// recipe, and if those are right, the plan.
Decision Decide(const LaunchFlags& flags, const World& world,
                Problems& problems) {
  Decision decision;
  absl::StatusOr<Topology> machine = ReadTopology({.topology = flags.topology});
  if (!machine.ok()) Fail(machine.status(), problems);
  if (machine.ok()) decision.machine = *std::move(machine);
  if (!flags.rest.empty()) {
    decision.target =
        FindTarget(flags.rest,
                   {.path = Variable("PATH"),
                    .trainer = FindTrainer(world.executable, world.runfiles)},
                   problems);
  }
  if (decision.target && decision.target->is_trainer) {
    decision.training =
        ReadTraining(decision.target->arguments(), world.here, problems);
  }
  if (HasErrors(problems)) return decision;
  const Training* training = decision.training ? &*decision.training : nullptr;
  if (flags.ray) {
    LaunchPlan plan = PlanForRay(flags, training, problems);
    if (!HasErrors(problems)) decision.plan = std::move(plan);
    return decision;
  }
  decision.plan = MakeLaunchPlan(flags, *decision.machine, training, problems);
  return decision;
}

// The Ray backend of a launch; null with an error where its driver is missing.
std::unique_ptr<RayBackend> RayOf(const LaunchFlags& flags, const World& world,
                                  const Decision& decision,
                                  Problems& problems) {
  const absl::StatusOr<std::string> driver =
      FindRayDriver(world.executable, std::getenv("SLIPWAY_RAY_DRIVER"));
  if (!driver.ok()) {
    Fail(driver.status(), problems);
    return nullptr;
  }
  return std::make_unique<RayBackend>(
      RayOptions{.flags = flags,
                 .training = decision.training ? &*decision.training : nullptr,
                 .driver = *driver,
                 .agent = world.executable,
                 .console = &std::cerr});
}

// Replaces what is known beforehand by what the cluster's machines say.
void AskRay(const LaunchFlags& flags, const World& world, Decision& decision,
            Problems& problems) {
  if (!decision.plan) return;
  decision.plan.reset();
  const std::unique_ptr<RayBackend> ray =
      RayOf(flags, world, decision, problems);
  if (ray == nullptr) return;
  absl::StatusOr<LaunchPlan> plan = ray->Plan();
  if (plan.ok()) {
    decision.plan = *std::move(plan);
  } else {
    Fail(plan.status(), problems);
  }
}

int ShowTopology(const LaunchFlags& flags) {
  const absl::StatusOr<Topology> machine =
      ReadTopology({.topology = flags.topology});
  if (!machine.ok()) {
    Problems problems;
    Fail(machine.status(), problems);
    return Refuse(problems);
  }
  if (flags.json) {
    Print(ToJson(*machine));
  } else {
    std::cout << FormatTopology(*machine);
  }
  return 0;
}

// The whole machine, as one program would use it.
int ShowEnvironment(LaunchFlags flags) {
  Problems problems;
  flags.placement = {.allow_straddle = true};
  flags.rest.clear();
  flags.processes = {};
  const Decision decision = Decide(flags, World(), problems);
  if (!decision.plan) return Refuse(problems);
  const EnvironmentPlan environment =
      ShellEnvironment(decision.plan->nodes[0].environment,
                       decision.plan->PlacementOf(0).threads);
  if (flags.json) {
    Print(ToJson(environment));
  } else {
    std::cout << FormatForShell(environment);
  }
  return 0;
}

// The program's command line. A trainer that may be started again gets its run
// folder from us, so that each attempt can go on where the last one was.
std::vector<std::string> CommandLine(const LaunchFlags& flags,
                                     const Decision& decision) {
  std::vector<std::string> argv = decision.target->argv;
  const std::optional<Training>& training = decision.training;
  if (training && flags.max_restarts > 0 && training->flags.run_dir.empty()) {
    const std::string folder = RunFolderPath(
        FolderRequest(training->flags, training->composed), absl::Now());
    argv.insert(argv.begin() + 1, absl::StrCat("--run_dir=", folder));
  }
  return argv;
}

// The folder with trainer, recipes and plugins: of the runfiles, or where they
// are installed.
std::string RepositoryOf(const std::string& trainer) {
  return std::filesystem::path(trainer).parent_path().parent_path().string();
}

LaunchRequest RequestOf(const LaunchFlags& flags, const World& world,
                        const Decision& decision) {
  LaunchRequest request;
  request.argv = CommandLine(flags, decision);
  request.plan = *decision.plan;
  request.takes_store = decision.target->is_trainer;
  // The trainer's recipes and plugins are in our runfiles, not in its own.
  const std::string runfiles = world.executable + ".runfiles";
  if (decision.target->is_trainer && world.runfiles == nullptr &&
      access(runfiles.c_str(), F_OK) == 0) {
    request.variables["RUNFILES_DIR"] = runfiles;
  }
  if (decision.target->is_trainer) {
    request.folders = {RepositoryOf(request.argv[0])};
  }
  request.max_restarts = flags.max_restarts;
  if (decision.training) {
    // From the latest checkpoint, or from the beginning where there is none.
    request.restart_arguments = {"training_hyperparams.resume=True"};
  }
  SupervisorOptions& options = request.supervision;
  options.bind = flags.bind;
  options.grace = flags.grace;
  options.heartbeat_timeout = flags.heartbeat_timeout;
  options.log_dir =
      flags.log_dir.empty() ? DefaultLogDir(absl::Now()) : flags.log_dir;
  options.prefix = flags.prefix;
  options.console_ranks = flags.tee ? flags.log_ranks : std::vector<int>();
  return request;
}

// Measures every sensible trial and goes on with the fastest: its number of
// processes and its placement.
std::vector<Trial> Calibrate(LaunchFlags& flags, const World& world,
                             Decision& decision, Problems& problems) {
  std::vector<Trial> trials = SensibleTrials(*decision.machine);
  const CalibrationRequest request = {
      .flags = flags,
      .machine = &*decision.machine,
      .training = &*decision.training,
      .launch = RequestOf(flags, world, decision)};
  for (Trial& trial : trials) {
    std::cerr << absl::StrCat("training ", trial.ranks, " x ", trial.threads,
                              " threads ...\n");
    if (!Measure(request, trial)) break;
  }
  const Trial* best = Best(trials);
  if (best == nullptr) {
    problems.push_back({.kind = "value",
                        .message = "no number of ranks could be measured",
                        .detail = FormatTrials(trials)});
    return trials;
  }
  flags.placement = best->placement;
  flags.processes = {.from = ProcessCount::From::kNumber,
                     .number = best->ranks};
  decision.plan =
      MakeLaunchPlan(flags, *decision.machine, &*decision.training, problems);
  return trials;
}

int ShowPlan(const LaunchFlags& flags, const std::optional<LaunchPlan>& plan,
             const std::vector<Trial>& trials, const Problems& problems) {
  if (flags.json) {
    nlohmann::ordered_json document =
        plan ? ToJson(*plan) : RefusedPlan(problems);
    if (flags.calibrate) document["calibration"] = ToJson(trials);
    Print(document);
  } else if (plan) {
    if (flags.calibrate) std::cout << FormatTrials(trials) << "\n";
    std::cout << FormatLaunchPlan(*plan);
  }
  std::cerr << FormatProblems(problems);
  if (plan) std::cerr << FormatProblems(plan->problems);
  return plan ? 0 : kRefused;
}

int Plan(LaunchFlags flags, Problems problems) {
  const World world;
  Decision decision = Decide(flags, world, problems);
  if (flags.ray) AskRay(flags, world, decision, problems);
  std::vector<Trial> trials;
  if (flags.calibrate && decision.plan) {
    if (decision.training) {
      trials = Calibrate(flags, world, decision, problems);
    } else {
      problems.push_back({.kind = "value",
                          .message = "--calibrate needs a recipe to train",
                          .hint = "launcher plan --calibrate -- --recipe=..."});
    }
    if (HasErrors(problems)) decision.plan.reset();
  }
  return ShowPlan(flags, decision.plan, trials, problems);
}

// Whether the trainer would show what it plans and stop.
bool IsDryRun(const Decision& decision) {
  return decision.training && decision.training->flags.dry_run;
}

int Run(LaunchFlags flags, Problems problems) {
  const World world;
  Decision decision = Decide(flags, world, problems);
  if (IsDryRun(decision)) {
    flags.json |= decision.training->flags.format == "json";
    if (flags.ray) AskRay(flags, world, decision, problems);
    return ShowPlan(flags, decision.plan, {}, problems);
  }
  const absl::StatusOr<std::optional<int>> port =
      ParseMasterPort(std::getenv("MASTER_PORT"));
  if (!port.ok()) Fail(port.status(), problems);
  if (HasErrors(problems)) return Refuse(problems);
  // What is worth knowing of the recipe and of plugins, the trainer tells.
  problems.clear();
  std::cerr << FormatProblems(decision.plan->problems);
  std::unique_ptr<RayBackend> ray;
  if (flags.ray) ray = RayOf(flags, world, decision, problems);
  if (HasErrors(problems)) return Refuse(problems);
  LaunchRequest request = RequestOf(flags, world, decision);
  request.backend = ray.get();
  request.master_port = *port;
  if (!flags.tee) {
    std::cerr << absl::StrCat("logs: ", request.supervision.log_dir, "\n");
  }
  const absl::StatusOr<LaunchReport> report = Launch(request, problems);
  if (!report.ok()) Fail(report.status(), problems);
  std::cerr << FormatProblems(problems);
  if (!report.ok()) return kRefused;
  std::cerr << FormatFailure(*report, request.supervision.log_dir);
  return report->exit_code();
}

int Main(const std::vector<std::string>& arguments) {
  // What a Ray actor starts on its node: not for people.
  if (!arguments.empty() && arguments[0] == "agent") {
    return RunAgent(STDIN_FILENO, STDOUT_FILENO,
                    arguments.size() > 1 ? arguments[1] : "");
  }
  Problems problems;
  const LaunchFlags flags = ParseLaunchFlags(arguments, problems);
  if (flags.help) {
    std::cerr << LaunchFlagsHelp();
    return 0;
  }
  switch (flags.command) {
    case Command::kTopo:
      return HasErrors(problems) ? Refuse(problems) : ShowTopology(flags);
    case Command::kEnv:
      return HasErrors(problems) ? Refuse(problems) : ShowEnvironment(flags);
    // What is wrong with the program or the recipe is told with the rest.
    case Command::kPlan:
      return Plan(flags, std::move(problems));
    case Command::kRun:
      return Run(flags, std::move(problems));
  }
  return kRefused;
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; users mean paths from where they
  // are.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "warning: cannot enter " << directory << "\n";
  }
  return slipway::launcher::Main({argv + 1, argv + argc});
}
