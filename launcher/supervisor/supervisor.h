// Runs the ranks of one attempt to their end, whatever that is.
//
//   AttemptReport report = Supervise(ranks, options, problems);
//
// All catchable signals are passed on to every rank. SIGINT and SIGTERM also
// start the grace period, at the end of which SIGKILL follows; a second one
// ends it at once. SIGTSTP stops the ranks and then this process, until
// SIGCONT. When a rank fails, the others get SIGTERM and the same grace period.
// When Supervise returns, no descendant of any rank is left.
//
// For the main thread of a process without other threads.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_SUPERVISOR_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_SUPERVISOR_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/binding/binding.h"
#include "launcher/supervisor/ranks.h"
#include "launcher/supervisor/reaper.h"
#include "launcher/supervisor/report.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

struct SupervisorOptions {
  BindMode bind = BindMode::kStrict;
  absl::Duration grace = absl::Seconds(10);
  // A rank that has written a heartbeat and then none for this long is ended;
  // zero: never.
  absl::Duration heartbeat_timeout = absl::ZeroDuration();
  // Folder for rank<N>.out and rank<N>.err, which are appended to; "": none.
  std::string log_dir;
  std::string prefix = "[{rank}] ";
  // The ranks that the console shows; absent: all.
  std::optional<std::vector<int>> console_ranks;
  int attempt = 0;
  // Where the ranks' output goes; must outlive the call.
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
};

// Warnings (of bindings) go to `problems`.
AttemptReport Supervise(Ranks& ranks, const SupervisorOptions& options,
                        Problems& problems);

// The same for programs on this machine: see LocalRanks::Start. An error only
// if nothing could be started.
absl::StatusOr<AttemptReport> Supervise(std::vector<RankProgram> programs,
                                        const SupervisorOptions& options,
                                        Problems& problems);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_SUPERVISOR_H_
