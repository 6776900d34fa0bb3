// What the machine does meanwhile: SuperGradients' System/... values.
//
//   SystemUsage usage(run_dir, Now());
//   ...
//   NamedValues values = usage.Take(Now());
//
//   System/cpu.usage_percent          of all CPUs, since the last look
//   System/memory.usage_percent       used, of the machine's memory, now
//   System/disk.usage_percent         used, of the disk that has the folder,
//   now System/disk.io_read_mbs           MiB a second, all disks, since the
//   last System/disk.io_write_mbs            look
//   System/network.network_sent_mbs   the same for the network's interfaces
//   System/network.network_recv_mbs
//
// Read from /proc; what it does not tell is left out. Not thread-safe.
#ifndef SLIPWAY_TRAINER_REPORT_SYSTEM_USAGE_H_
#define SLIPWAY_TRAINER_REPORT_SYSTEM_USAGE_H_

#include <string>
#include <utility>

#include "trainer/report/reporter.h"

namespace slipway {

// Counters of the system's that only grow.
struct SystemCounters {
  double cpu_ticks = 0;
  double idle_ticks = 0;
  double disk_read = 0;  // bytes
  double disk_written = 0;
  double received = 0;
  double sent = 0;
};

// The contents of /proc/stat, /proc/diskstats and /proc/net/dev, added up over
// CPUs, whole disks and interfaces other than the loopback.
SystemCounters ParseSystemCounters(const std::string& stat,
                                   const std::string& diskstats,
                                   const std::string& net_dev);

class SystemUsage {
 public:
  // `now` is in seconds, of any clock.
  SystemUsage(std::string folder, double now);

  // When the last look was.
  double since() const { return since_; }
  // The values since then, and a new start.
  NamedValues Take(double now);

 private:
  std::string folder_;
  double since_;
  SystemCounters before_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_SYSTEM_USAGE_H_
