#include "trainer/report/system_usage.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace slipway {
namespace {

constexpr double kMebibyte = 1024 * 1024;
constexpr double kSector = 512;  // of /proc/diskstats, whatever the disk's

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// cpu user nice system idle iowait irq softirq steal (guest is part of user)
void AddCpu(const std::string& stat, SystemCounters& sum) {
  std::istringstream line(stat);
  std::string name;
  line >> name;
  for (int column = 0; column < 8; ++column) {
    double ticks = 0;
    if (!(line >> ticks)) return;
    sum.cpu_ticks += ticks;
    if (column == 3 || column == 4) sum.idle_ticks += ticks;
  }
}

// A partition's traffic is its disk's too: sda1, nvme0n1p2, mmcblk0p1. So is
// that of devices which others are made of.
bool IsWholeDisk(const std::string& name) {
  for (const char* prefix : {"loop", "ram", "dm-", "md", "zram"}) {
    if (absl::StartsWith(name, prefix)) return false;
  }
  const size_t last = name.find_last_not_of("0123456789");
  if (last == name.npos || last + 1 == name.size()) return true;
  const bool numbered =
      absl::StartsWith(name, "nvme") || absl::StartsWith(name, "mmcblk");
  return numbered && name[last] != 'p';
}

// major minor name reads merged sectors_read ms writes merged sectors_written
void AddDisks(const std::string& diskstats, SystemCounters& sum) {
  std::istringstream lines(diskstats);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    std::string major, minor, name;
    double skip = 0, read = 0, written = 0;
    columns >> major >> minor >> name >> skip >> skip >> read >> skip >> skip >>
        skip >> written;
    if (!columns || !IsWholeDisk(name)) continue;
    sum.disk_read += read * kSector;
    sum.disk_written += written * kSector;
  }
}

// "eth0: bytes" and 7 more columns received, then the same sent.
void AddNetwork(const std::string& net_dev, SystemCounters& sum) {
  std::istringstream lines(net_dev);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    if (absl::StripAsciiWhitespace(line.substr(0, colon)) == "lo") continue;
    std::istringstream columns(line.substr(colon + 1));
    double received = 0, skip = 0, sent = 0;
    columns >> received;
    for (int i = 0; i < 7; ++i) columns >> skip;
    if (!(columns >> sent)) continue;
    sum.received += received;
    sum.sent += sent;
  }
}

SystemCounters Look() {
  return ParseSystemCounters(ReadAll("/proc/stat"), ReadAll("/proc/diskstats"),
                             ReadAll("/proc/net/dev"));
}

// The number after `key` in /proc/meminfo, in any unit; 0 if it is not there.
double MemoryField(const std::string& meminfo, const std::string& key) {
  const size_t at = meminfo.find(key);
  if (at == meminfo.npos) return 0;
  double value = 0;
  std::istringstream(meminfo.substr(at + key.size(), 32)) >> value;
  return value;
}

void AddLevels(const std::string& folder, NamedValues& values) {
  const std::string meminfo = ReadAll("/proc/meminfo");
  const double memory = MemoryField(meminfo, "MemTotal:");
  if (memory > 0) {
    const double available = MemoryField(meminfo, "MemAvailable:");
    values.emplace_back("System/memory.usage_percent",
                        100 * (1 - available / memory));
  }
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return;
  const auto used = static_cast<double>(disk.f_blocks - disk.f_bfree);
  const double all = used + static_cast<double>(disk.f_bavail);
  if (all > 0) {
    values.emplace_back("System/disk.usage_percent", 100 * used / all);
  }
}

}  // namespace

SystemCounters ParseSystemCounters(const std::string& stat,
                                   const std::string& diskstats,
                                   const std::string& net_dev) {
  SystemCounters sum;
  AddCpu(stat, sum);
  AddDisks(diskstats, sum);
  AddNetwork(net_dev, sum);
  return sum;
}

SystemUsage::SystemUsage(std::string folder, double now)
    : folder_(std::move(folder)), since_(now), before_(Look()) {}

NamedValues SystemUsage::Take(double now) {
  const SystemCounters after = Look();
  const double seconds = std::max(now - since_, 1e-3);
  const auto rate = [seconds](double from, double to) {
    return (to - from) / kMebibyte / seconds;
  };
  NamedValues values;
  const double ticks = after.cpu_ticks - before_.cpu_ticks;
  if (ticks > 0) {
    const double idle = after.idle_ticks - before_.idle_ticks;
    values.emplace_back("System/cpu.usage_percent", 100 * (1 - idle / ticks));
  }
  AddLevels(folder_, values);
  values.emplace_back("System/disk.io_read_mbs",
                      rate(before_.disk_read, after.disk_read));
  values.emplace_back("System/disk.io_write_mbs",
                      rate(before_.disk_written, after.disk_written));
  values.emplace_back("System/network.network_sent_mbs",
                      rate(before_.sent, after.sent));
  values.emplace_back("System/network.network_recv_mbs",
                      rate(before_.received, after.received));
  before_ = after;
  since_ = now;
  return values;
}

}  // namespace slipway
