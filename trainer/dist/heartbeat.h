// Signs of life for whoever started this process.
//
//   Heartbeat heartbeat(environment.heartbeat_fd);
//   for (...) { Step(); heartbeat.Beat(); }
//
// A launcher that sees no byte for longer than its --heartbeat_timeout takes
// the process for hung. Not thread-safe.
#ifndef SLIPWAY_TRAINER_DIST_HEARTBEAT_H_
#define SLIPWAY_TRAINER_DIST_HEARTBEAT_H_

#include <optional>

namespace slipway::dist {

class Heartbeat {
 public:
  // `fd` is this process's to write to, and not its children's. Without one
  // nobody listens, and beats do nothing.
  explicit Heartbeat(std::optional<int> fd = std::nullopt);

  // Writes one byte, and never waits: what finds the pipe full is left out. A
  // listener that is gone is forgotten.
  void Beat();

 private:
  int fd_ = -1;
};

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_HEARTBEAT_H_
