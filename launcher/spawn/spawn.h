// Several processes of your own program, each running a function on cores of
// its own: BigDL-Nano's `num_processes`, for C++.
//
//   absl::Status Train(const Rank& rank) { ... }
//
//   int main() {
//     const absl::StatusOr<LaunchReport> report =
//         Spawn({.num_processes = 2}, Train);
//     return ExitCode(report);
//   }
//
// Spawn starts the program again for each rank, with the same arguments. Those
// processes run main() up to the same call of Spawn, which runs the function
// and ends them. So what stands before the call happens in every rank too, and
// what stands behind it in the first process alone. Nothing is pickled or
// copied: a rank builds what it needs in the function, or before the call.
//
// The ranks are placed, bound, equipped and supervised as //launcher does it
// (RANK, WORLD_SIZE, MASTER_ADDR, SLIPWAY_STORE_FD, thread counts, signals, one
// report of what failed first).
//
// Call it in the main thread, before any other thread is started, and in the
// same order in every process: of several calls in a program, a rank of the
// second passes over the first.
#ifndef SLIPWAY_LAUNCHER_SPAWN_SPAWN_H_
#define SLIPWAY_LAUNCHER_SPAWN_SPAWN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/binding/binding.h"
#include "launcher/environment/environment.h"
#include "launcher/placement/placement.h"
#include "launcher/supervisor/report.h"
#include "launcher/topology/cpu_set.h"

namespace slipway::launcher {

struct SpawnOptions {
  // 0: as many as the machine suggests.
  int num_processes = 1;
  // If given, rank i gets exactly the i-th list.
  std::vector<CpuSet> cpu_for_each_process;
  Policy policy = Policy::kSpread;
  Smt smt = Smt::kSkip;
  BindMode bind = BindMode::kStrict;
  Allocator allocator = Allocator::kTuned;
  // SLIPWAY_AUTO_LR: learning rates grow with the number of ranks.
  bool auto_lr = true;
  // Between SIGTERM and SIGKILL.
  absl::Duration grace = absl::Seconds(10);
  int max_restarts = 0;
  // Folder for the ranks' output and launch_report.json; "": none. The console
  // shows the output in either case.
  std::string log_dir;
};

// Which of them this process is.
struct Rank {
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  int restart = 0;  // attempt, from 0
};

// What a rank does. An error, or an exception, is printed, and the rank ends
// with exit code 1.
using RankFunction = std::function<absl::Status(const Rank&)>;

// In the first process: returns when all ranks have ended, with what became of
// them, after printing the first failure, if any, to stderr. INVALID_ARGUMENT,
// with all that is wrong, if nothing could be started.
//
// In a rank: never returns. A process that has WORLD_SIZE in its environment is
// a rank already, of //launcher, torchrun or a Spawn around this one: it runs
// the function and ends.
absl::StatusOr<LaunchReport> Spawn(const SpawnOptions& options,
                                   const RankFunction& function);

// For main(): that of the report; 2, after printing the error, without one.
int ExitCode(const absl::StatusOr<LaunchReport>& report);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SPAWN_SPAWN_H_
