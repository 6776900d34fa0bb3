// A control group of the ranks' own, where the kernel lets us make one: it ends
// all that is in it at once, however fast that forks.
//
//   KillGroup group = KillGroup::Make();
//   const pid_t rank = group.Fork();     // whose child is in the group
//   // when all must end:
//   group.Kill();
//   group.Remove();
//
// Needs a cgroup 2 hierarchy in which this process's group can be written:
// root, or a group that was delegated. Elsewhere all calls do nothing, and the
// reaper finds its descendants by itself. Enter and Kill are async-signal-safe.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_KILL_GROUP_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_KILL_GROUP_H_

#include <sys/types.h>

#include <string>

#include "launcher/supervisor/pipes.h"

namespace slipway::launcher {

class KillGroup {
 public:
  // Beneath this process's own group; the folder's name has this process's id.
  static KillGroup Make();

  // Whether there is a group.
  bool exists() const { return static_cast<bool>(kill_); }
  const std::string& folder() const { return folder_; }

  // fork(), with the child in the group from its first moment on: moving a
  // process there later would wait for the whole machine. For processes with
  // one thread: the handlers of pthread_atfork are not called.
  pid_t Fork() const;
  // Sends SIGKILL to everything in it.
  void Kill() const;
  // Once nothing is left in it.
  void Remove() const;

 private:
  std::string folder_;
  Descriptor directory_;
  Descriptor kill_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_KILL_GROUP_H_
