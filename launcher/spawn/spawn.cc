#include "launcher/spawn/spawn.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "launcher/flags.h"
#include "launcher/launch.h"
#include "launcher/launch_plan.h"
#include "launcher/topology/topology.h"
#include "trainer/locations.h"

namespace slipway::launcher {
namespace {

// Of the call, counted from 0, whose rank a process is.
constexpr char kCallVariable[] = "SLIPWAY_SPAWN";

int CountCall() {
  static std::atomic<int> calls = 0;
  return calls++;
}

std::optional<int> NumberFrom(const char* variable) {
  const char* text = std::getenv(variable);
  int number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

Rank ThisRank() {
  return {.rank = NumberFrom("RANK").value_or(0),
          .local_rank = NumberFrom("LOCAL_RANK").value_or(0),
          .world_size = NumberFrom("WORLD_SIZE").value_or(1),
          .restart = NumberFrom("SLIPWAY_RESTART").value_or(0)};
}

absl::Status Call(const RankFunction& function, const Rank& rank) {
  try {
    return function(rank);
  } catch (const std::exception& error) {
    return absl::UnknownError(error.what());
  }
}

[[noreturn]] void RunAsRank(const RankFunction& function) {
  // Programs that the function starts are no ranks of ours.
  unsetenv(kCallVariable);
  const Rank rank = ThisRank();
  const absl::Status status = Call(function, rank);
  if (!status.ok()) {
    std::cerr << "error: rank " << rank.rank << ": " << status.message()
              << "\n";
  }
  std::exit(status.ok() ? 0 : 1);
}

// This process's own command line.
std::vector<std::string> CommandLine() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string one; std::getline(file, one, '\0');) {
    arguments.push_back(one);
  }
  arguments.resize(std::max<size_t>(arguments.size(), 1));
  arguments[0] = ExecutablePath();
  return arguments;
}

LaunchFlags FlagsOf(const SpawnOptions& options) {
  LaunchFlags flags;
  flags.processes = {.from = options.num_processes == 0
                                 ? ProcessCount::From::kAuto
                                 : ProcessCount::From::kNumber,
                     .number = options.num_processes};
  flags.placement.policy = options.policy;
  flags.placement.smt = options.smt;
  flags.placement.cpu_for_each_process = options.cpu_for_each_process;
  flags.bind = options.bind;
  flags.allocator = options.allocator;
  flags.auto_lr = options.auto_lr;
  return flags;
}

absl::StatusOr<LaunchReport> LaunchAll(const SpawnOptions& options, int call) {
  absl::StatusOr<Topology> machine = ReadTopology({});
  if (!machine.ok()) return machine.status();
  Problems problems;
  std::optional<LaunchPlan> plan =
      MakeLaunchPlan(FlagsOf(options), *machine, nullptr, problems);
  if (!plan) return absl::InvalidArgumentError(FormatProblems(problems));
  std::cerr << FormatProblems(plan->problems);
  LaunchRequest request = {.plan = *std::move(plan),
                           .argv = CommandLine(),
                           .takes_store = true,
                           .max_restarts = options.max_restarts};
  request.variables[kCallVariable] = absl::StrCat(call);
  request.supervision = {
      .bind = options.bind, .grace = options.grace, .log_dir = options.log_dir};
  absl::StatusOr<LaunchReport> report = Launch(request, problems);
  std::cerr << FormatProblems(problems);
  if (report.ok()) std::cerr << FormatFailure(*report, options.log_dir);
  return report;
}

}  // namespace

absl::StatusOr<LaunchReport> Spawn(const SpawnOptions& options,
                                   const RankFunction& function) {
  const int call = CountCall();
  const std::optional<int> meant = NumberFrom(kCallVariable);
  if (meant && call < *meant) return LaunchReport();
  if (meant || std::getenv("WORLD_SIZE") != nullptr) RunAsRank(function);
  return LaunchAll(options, call);
}

int ExitCode(const absl::StatusOr<LaunchReport>& report) {
  if (report.ok()) return report->exit_code();
  std::cerr << report.status().message() << "\n";
  return 2;
}

}  // namespace slipway::launcher
