#include "launcher/topology/cgroup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Absolute paths of the process, seen from `root`.
fs::path Under(const std::string& root, absl::string_view absolute) {
  return fs::path(root) / std::string(absolute.substr(1));
}

// One mounted hierarchy and this process's group in it.
struct Group {
  fs::path mount;
  fs::path group;  // at or below `mount`
};

// The mount point of the hierarchy with `controller` ("" for version 2).
std::optional<fs::path> FindMount(const std::string& root,
                                  const std::string& controller) {
  const std::optional<std::string> mounts =
      ReadText(fs::path(root) / "proc/self/mounts");
  if (!mounts) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*mounts, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 4) continue;
    if (controller.empty() ? fields[2] != "cgroup2" : fields[2] != "cgroup") {
      continue;
    }
    const std::vector<absl::string_view> options =
        absl::StrSplit(fields[3], ',');
    if (controller.empty() || std::count(options.begin(), options.end(),
                                         absl::string_view(controller)) > 0) {
      return Under(root, fields[1]);
    }
  }
  return std::nullopt;
}

// This process's path in that hierarchy, from lines such as
// "4:cpuset:/docker/1" and "0::/user.slice".
std::optional<std::string> FindPath(const std::string& root,
                                    const std::string& controller) {
  const std::optional<std::string> groups =
      ReadText(fs::path(root) / "proc/self/cgroup");
  if (!groups) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*groups, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() < 3 || fields[2].empty()) continue;
    const std::vector<absl::string_view> controllers =
        absl::StrSplit(fields[1], ',');
    if (std::count(controllers.begin(), controllers.end(),
                   absl::string_view(controller)) > 0) {
      return std::string(fields[2]);
    }
  }
  return std::nullopt;
}

std::optional<Group> FindGroup(const std::string& root,
                               const std::string& controller) {
  std::optional<fs::path> mount = FindMount(root, controller);
  std::optional<std::string> path = FindPath(root, controller);
  if (!mount || !path) return std::nullopt;
  fs::path group = *mount / path->substr(1);
  // Inside a container the path may be the host's, of which only the end, the
  // mount itself, can be seen.
  if (!fs::exists(group)) group = *mount;
  return Group{*std::move(mount), std::move(group)};
}

std::optional<CpuSet> ReadSet(const fs::path& path) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return std::nullopt;
  absl::StatusOr<CpuSet> set = CpuSet::Parse(*text);
  if (!set.ok() || set->empty()) return std::nullopt;
  return *std::move(set);
}

// "max 100000" and "50000 100000".
std::optional<double> QuotaOfV2(const fs::path& folder) {
  const std::optional<std::string> text = ReadText(folder / "cpu.max");
  if (!text) return std::nullopt;
  double quota = 0;
  double period = 0;
  std::istringstream in(*text);
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

std::optional<double> QuotaOfV1(const fs::path& folder) {
  const std::optional<std::string> quota_text =
      ReadText(folder / "cpu.cfs_quota_us");
  const std::optional<std::string> period_text =
      ReadText(folder / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!quota_text || !period_text || !absl::SimpleAtod(*quota_text, &quota) ||
      !absl::SimpleAtod(*period_text, &period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

// The smallest quota from the group up to its mount.
std::optional<double> SmallestQuota(
    const Group& group, std::optional<double> (*quota_of)(const fs::path&)) {
  std::optional<double> smallest;
  for (fs::path folder = group.group;; folder = folder.parent_path()) {
    const std::optional<double> quota = quota_of(folder);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
    if (folder == group.mount || folder == folder.parent_path()) break;
  }
  return smallest;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) {
  CgroupLimits limits;
  if (const std::optional<Group> v2 = FindGroup(root, "")) {
    limits.cpus = ReadSet(v2->group / "cpuset.cpus.effective");
    limits.nodes = ReadSet(v2->group / "cpuset.mems.effective");
    limits.quota_cpus = SmallestQuota(*v2, QuotaOfV2);
  }
  if (const std::optional<Group> cpuset = FindGroup(root, "cpuset");
      cpuset && !limits.cpus) {
    limits.cpus = ReadSet(cpuset->group / "cpuset.effective_cpus");
    if (!limits.cpus) limits.cpus = ReadSet(cpuset->group / "cpuset.cpus");
    limits.nodes = ReadSet(cpuset->group / "cpuset.mems");
  }
  if (const std::optional<Group> cpu = FindGroup(root, "cpu");
      cpu && !limits.quota_cpus) {
    limits.quota_cpus = SmallestQuota(*cpu, QuotaOfV1);
  }
  return limits;
}

std::string OwnCgroup2(const std::string& root) {
  const std::optional<Group> group = FindGroup(root, "");
  return group ? group->group.string() : "";
}

}  // namespace slipway::launcher
