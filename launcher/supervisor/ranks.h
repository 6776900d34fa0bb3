// The ranks of one attempt as the supervisor sees them, wherever they run.
//
//   std::vector<pollfd> fds = ranks.Watched();
//   poll(fds.data(), fds.size(), ...);
//   for (const RankEvent& event : ranks.Take()) ...
//   ranks.Signal(-1, SIGTERM);
//   ...
//   ranks.Finish();
//   while (ranks.IsOpen()) ...   // what they have said last
//
// LocalRanks (local_ranks.h) are children of this machine's reaper, RayRanks
// (../ray/ray_ranks.h) those of agents on other machines. What is done about an
// event is the supervisor's alone. Not synchronised.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_RANKS_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_RANKS_H_

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/binding/binding.h"

namespace slipway::launcher {

struct RankEvent {
  enum class Kind {
    kStarted,      // about to exec: `pid`, `binding`
    kStartFailed,  // `text` says why; `ended` if no kExited follows
    kOut,          // `text` has bytes of its standard output
    kErr,          // ... of its standard error
    kOutEnd,       // no more of them will come
    kErrEnd,
    kBeat,    // a heartbeat
    kStack,   // `text` is what Describe asked for
    kExited,  // `wait_status` as of waitpid, `out_of_memory`
    kLost,    // `text` says why nothing more is known of it
  };
  Kind kind = Kind::kStarted;
  int rank = 0;
  pid_t pid = 0;
  BindingResult binding;
  int wait_status = 0;
  // The kernel has killed for memory where the rank ran.
  bool out_of_memory = false;
  bool ended = false;
  std::string text;
};

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int size() const = 0;
  // What `rank` was to be bound to.
  virtual const Binding& Wanted(int rank) const = 0;
  // What becomes readable when there are events.
  virtual std::vector<pollfd> Watched() const = 0;
  // When Take is due at the latest, though nothing became readable.
  virtual absl::Time Deadline() const { return absl::InfiniteFuture(); }
  // All events that there are, without waiting.
  virtual std::vector<RankEvent> Take() = 0;
  // Sends `signal` to the process group of `rank`, or of every rank (-1).
  virtual void Signal(int rank, int signal) = 0;
  // Asks for a kStack event: what the threads of `rank` are doing.
  virtual void Describe(int rank) = 0;
  // Kills what is left. Events that were under way can still be taken.
  virtual void Finish() = 0;
  // Whether anything may still come: until the output of all ranks has ended.
  virtual bool IsOpen() const = 0;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_RANKS_H_
