// Runs a launch: all its attempts, its log folder and its report.
//
//   LaunchRequest request = {.plan = plan, .argv = {"/usr/bin/python3", ...}};
//   absl::StatusOr<LaunchReport> report = Launch(request, problems);
//   std::cerr << FormatFailure(*report, request.log_dir);
//   return report->exit_code();
//
// When Launch returns, nothing that it started is left. For the main thread of
// a process without other threads.
#ifndef SLIPWAY_LAUNCHER_LAUNCH_H_
#define SLIPWAY_LAUNCHER_LAUNCH_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/backend.h"
#include "launcher/launch_plan.h"
#include "launcher/supervisor/report.h"
#include "launcher/supervisor/supervisor.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

struct LaunchRequest {
  // With a backend of its own that knows better, what is known beforehand.
  LaunchPlan plan;
  // Absent: the ranks run on this machine.
  Backend* backend = nullptr;
  // argv[0] is a path that can be executed.
  std::vector<std::string> argv;
  // Rank 0 takes the listening rendezvous socket over (SLIPWAY_STORE_FD); other
  // programs bind MASTER_PORT themselves.
  bool takes_store = false;
  // Folders that the program needs besides the files that argv names, where it
  // runs on other machines.
  std::vector<std::string> folders;
  // Added to every rank's environment.
  std::map<std::string, std::string> variables;
  // The rendezvous port; absent: a free one for each attempt.
  std::optional<int> master_port;
  // How often all ranks are started again after a failure.
  int max_restarts = 0;
  // Behind argv from the second attempt on: how the program goes on where the
  // last one was.
  std::vector<std::string> restart_arguments;
  // Before the first restart; twice as long before each further one, up to a
  // minute.
  absl::Duration backoff = absl::Seconds(1);
  // bind, grace, heartbeat_timeout, log_dir, prefix, console_ranks, out, err.
  // The folder log_dir is made.
  SupervisorOptions supervision;
};

// An error only if nothing could be started: the log folder cannot be made, the
// port is in use. Warnings go to `problems`. A launch is not tried again after
// a rank that could not be started or that ended with 2 (nothing was started:
// its command line is wrong), or once the user has asked to stop.
absl::StatusOr<LaunchReport> Launch(const LaunchRequest& request,
                                    Problems& problems);

// $XDG_CACHE_HOME/slipway/launches/<time>-<pid>, beneath ~/.cache or the folder
// for temporary files where that is unset.
std::string DefaultLogDir(absl::Time now);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_LAUNCH_H_
