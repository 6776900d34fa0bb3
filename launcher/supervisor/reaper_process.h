// What runs inside the reaper's process. Internal to reaper.cc.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_PROCESS_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_PROCESS_H_

#include <vector>

#include "launcher/supervisor/reaper.h"

namespace slipway::launcher {

// A request of the launcher's: send `signal` to `rank`, or to all (-1).
struct ReaperCommand {
  int rank = -1;
  int signal = 0;
};

// Starts the ranks, in `group`, and serves `socket` until it closes. Never
// returns.
[[noreturn]] void RunReaper(int socket, const std::vector<RankProgram>& ranks,
                            BindMode mode, const KillGroup& group);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_PROCESS_H_
