#include "launcher/supervisor/oom.h"

#include <fstream>

namespace slipway::launcher {
namespace {

// The number behind "oom_kill" in a file of names and numbers.
int64_t OomKillOf(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace

int64_t CountOomKills(const std::string& root) {
  return OomKillOf(root + "/sys/fs/cgroup/memory.events") +
         OomKillOf(root + "/sys/fs/cgroup/memory/memory.oom_control") +
         OomKillOf(root + "/proc/vmstat");
}

}  // namespace slipway::launcher
