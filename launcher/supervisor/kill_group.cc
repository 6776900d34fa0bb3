#include "launcher/supervisor/kill_group.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "launcher/topology/cgroup.h"

namespace slipway::launcher {
namespace {

Descriptor Open(const std::string& path, int how) {
  return Descriptor(open(path.c_str(), how | O_CLOEXEC));
}

}  // namespace

KillGroup KillGroup::Make() {
  KillGroup group;
  const std::string own = OwnCgroup2("/");
  if (own.empty()) return group;
  group.folder_ = absl::StrCat(own, "/slipway-", getpid());
  if (mkdir(group.folder_.c_str(), 0755) != 0) return KillGroup();
  group.directory_ = Open(group.folder_, O_DIRECTORY | O_RDONLY);
  // Linux before 5.14 has no such file.
  group.kill_ = Open(group.folder_ + "/cgroup.kill", O_WRONLY);
  if (group.directory_ && group.kill_) return group;
  group.Remove();
  return KillGroup();
}

pid_t KillGroup::Fork() const {
  if (directory_) {
    clone_args arguments = {};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<uint64_t>(directory_.get());
    const long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid >= 0) return static_cast<pid_t>(pid);
  }
  return fork();
}

void KillGroup::Kill() const {
  // Nobody to tell: where the group fails, the reaper does the work.
  if (kill_ && write(kill_.get(), "1", 1) < 0) return;
}

void KillGroup::Remove() const {
  if (folder_.empty()) return;
  // For a moment after a process has been waited for, it is still counted.
  for (int i = 0; i < 100 && rmdir(folder_.c_str()) != 0; ++i) {
    if (errno != EBUSY) return;
    usleep(1000);
  }
}

}  // namespace slipway::launcher
