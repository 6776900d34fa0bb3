#include "trainer/loop/available_memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace slipway::loop {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The number behind `key` at the beginning of a line.
std::optional<int64_t> Field(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

// Nullopt for "max", and where there is no such file.
std::optional<int64_t> Number(const std::string& path) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(ReadAll(path), &value)) return std::nullopt;
  return value;
}

// The files of one version of control groups.
struct Version {
  const char* folder;
  const char* limit;
  const char* used;
  const char* cache;  // in memory.stat
};
constexpr Version kSecond = {"", "memory.max", "memory.current",
                             "inactive_file"};
constexpr Version kFirst = {"memory/", "memory.limit_in_bytes",
                            "memory.usage_in_bytes", "total_inactive_file"};

int64_t LeftIn(const std::string& group, const Version& version) {
  const auto limit = Number(absl::StrCat(group, "/", version.limit));
  const auto used = Number(absl::StrCat(group, "/", version.used));
  if (!limit || !used) return kNoLimit;
  const int64_t cache =
      Field(ReadAll(absl::StrCat(group, "/memory.stat")), version.cache)
          .value_or(0);
  return std::max<int64_t>(0, *limit - (*used - cache));
}

// From the group itself up to the root. In a container the path may be that of
// the host, which is not there: the root is, and has the container's limit.
int64_t LeftAbove(const std::string& root, std::string path,
                  const Version& version) {
  const std::string top = absl::StrCat(root, "/sys/fs/cgroup/", version.folder);
  int64_t left = LeftIn(top, version);
  while (path.size() > 1) {
    left = std::min(left, LeftIn(absl::StrCat(top, path), version));
    path.resize(path.rfind('/'));
  }
  return left;
}

// Lines are "hierarchy:controllers:path"; version 2 is "0::path".
int64_t LeftInGroups(const std::string& root) {
  int64_t left = kNoLimit;
  std::istringstream lines(ReadAll(absl::StrCat(root, "/proc/self/cgroup")));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers =
        absl::StrCat(",", line.substr(first + 1, second - first - 1), ",");
    const std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers == ",,") {
      left = std::min(left, LeftAbove(root, path, kSecond));
    } else if (controllers.find(",memory,") != controllers.npos) {
      left = std::min(left, LeftAbove(root, path, kFirst));
    }
  }
  return left;
}

int64_t StatusField(const char* key) {
  return Field(ReadAll("/proc/self/status"), key).value_or(0) * 1024;
}

}  // namespace

int64_t AvailableMemory(const std::string& root) {
  const std::optional<int64_t> machine =
      Field(ReadAll(absl::StrCat(root, "/proc/meminfo")), "MemAvailable:");
  const int64_t left =
      std::min(machine ? *machine * 1024 : kNoLimit, LeftInGroups(root));
  return left == kNoLimit ? 0 : left;
}

int64_t ResidentMemory() { return StatusField("VmRSS:"); }
int64_t PeakResidentMemory() { return StatusField("VmHWM:"); }
void ResetPeakResident() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace slipway::loop
