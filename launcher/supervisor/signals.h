// The signals that a launch passes on to its ranks.
//
//   ForwardedSignals signals;
//   poll(signals.fd()) ...
//   while (std::optional<int> signal = signals.Next()) Forward(*signal);
//
// While it lives, every signal that a process can catch, but for those of its
// own faults and children, waits to be read; a broken pipe on the console is an
// error of write() alone. For the main thread of a process without other
// threads; may be nested, the innermost reads.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_SIGNALS_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_SIGNALS_H_

#include <signal.h>

#include <optional>

#include "absl/time/time.h"
#include "launcher/supervisor/pipes.h"

namespace slipway::launcher {

class ForwardedSignals {
 public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  // Readable when there is one.
  int fd() const { return fd_.get(); }
  std::optional<int> Next();

  // Sleeps for `time`; false if SIGINT or SIGTERM came. Drops all others.
  bool Sleep(absl::Duration time);

 private:
  sigset_t set_;
  sigset_t before_;
  struct sigaction pipe_before_;
  Descriptor fd_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_SIGNALS_H_
