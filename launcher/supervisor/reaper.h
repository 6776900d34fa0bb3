// The ranks' parent: a tiny process in a session of its own that outlives
// whatever happens to the launcher, and takes everything with it.
//
//   absl::StatusOr<Reaper> reaper = Reaper::Start(std::move(ranks), mode);
//   while (...) {
//     poll(reaper->fd()) ... std::optional<ReaperEvent> e = reaper->Receive();
//   }
//   reaper->Finish();
//
// It starts the ranks, reports their ends, and passes signals on. It is a
// subreaper, so that orphaned grandchildren become its children, even those
// that called setsid. When its socket closes, because the launcher finished or
// because it died, however that was, it kills every descendant and ends:
// through a control group where it can (kill_group.h), and one by one.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/binding/binding.h"
#include "launcher/supervisor/kill_group.h"

namespace slipway::launcher {

// A program to start. Descriptors are the caller's, who closes them after
// Start.
struct RankProgram {
  std::vector<std::string> argv;         // argv[0] is the path
  std::vector<std::string> environment;  // "NAME=value"
  Binding binding = Binding({}, {});
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  // Further descriptors, kept open under the same numbers.
  std::vector<int> inherited_fds;
  // The caller's ends of pipes to it, which the reaper must not keep open: the
  // program is to see that the caller has closed its end.
  std::vector<int> callers_fds;
};

struct ReaperEvent {
  enum class Kind {
    kStarted,      // about to exec; `binding` tells what it is bound to
    kStartFailed,  // exec failed (errno in `error`), or a strict binding did
    kExited,       // `wait_status` as of waitpid
  };
  Kind kind = Kind::kStarted;
  int rank = 0;
  pid_t pid = 0;
  int wait_status = 0;
  int error = 0;
  BindingResult binding;
};

class Reaper {
 public:
  // Forks; call it before any thread is started.
  static absl::StatusOr<Reaper> Start(const std::vector<RankProgram>& ranks,
                                      BindMode mode);
  Reaper(Reaper&& other) noexcept;
  Reaper& operator=(Reaper&&) = delete;
  ~Reaper();

  // Readable when there is an event, or when the reaper is gone.
  int fd() const { return socket_; }
  // The next event; nullopt when the reaper is gone.
  std::optional<ReaperEvent> Receive();
  // Sends `signal` to the process group of `rank`, or of every rank (-1).
  void Signal(int rank, int signal);
  // Kills what is left and waits for the reaper.
  void Finish();

 private:
  Reaper(pid_t pid, int socket, KillGroup group)
      : pid_(pid), socket_(socket), group_(std::move(group)) {}

  pid_t pid_;
  int socket_;
  KillGroup group_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_REAPER_H_
