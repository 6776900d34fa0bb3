#include "launcher/supervisor/kill_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "launcher/topology/cgroup.h"

namespace slipway::launcher {
namespace {

Descriptor OpenToWrite(const std::string& path) {
  return Descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

void Write(const Descriptor& file, const char* digit) {
  // Nobody to tell: where the group fails, the reaper does the work.
  if (file && write(file.get(), digit, 1) < 0) return;
}

}  // namespace

KillGroup KillGroup::Make() {
  KillGroup group;
  const std::string own = OwnCgroup2("/");
  if (own.empty()) return group;
  group.folder_ = absl::StrCat(own, "/slipway-", getpid());
  if (mkdir(group.folder_.c_str(), 0755) != 0) return KillGroup();
  group.members_ = OpenToWrite(group.folder_ + "/cgroup.procs");
  // Linux before 5.14 has no such file.
  group.kill_ = OpenToWrite(group.folder_ + "/cgroup.kill");
  if (group.members_ && group.kill_) return group;
  group.Remove();
  return KillGroup();
}

void KillGroup::Enter() const { Write(members_, "0"); }

void KillGroup::Kill() const { Write(kill_, "1"); }

void KillGroup::Remove() const {
  if (folder_.empty()) return;
  // For a moment after a process has been waited for, it is still counted.
  for (int i = 0; i < 100 && rmdir(folder_.c_str()) != 0; ++i) {
    if (errno != EBUSY) return;
    usleep(1000);
  }
}

}  // namespace slipway::launcher
