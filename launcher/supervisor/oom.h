// How often the kernel has killed for memory in this process's control group.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_OOM_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_OOM_H_

#include <cstdint>
#include <string>

namespace slipway::launcher {

// The counter oom_kill of memory.events (cgroup 2), memory.oom_control (cgroup
// 1) and /proc/vmstat (the whole machine), added up; only differences mean
// anything. `root` is the file system's.
int64_t CountOomKills(const std::string& root = "/");

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_OOM_H_
