// What a process that makes no progress is doing.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_HANG_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_HANG_H_

#include <sys/types.h>

#include <string>

namespace slipway::launcher {

// A line for each thread of `pid`: name, state, and the system call or kernel
// function it waits in, as far as the kernel tells.
std::string DescribeThreads(pid_t pid);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_HANG_H_
