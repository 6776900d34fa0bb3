#include "launcher/topology/cgroup.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr char kV2Mount[] = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";

// A root with these files, relative to it.
std::string Root(const std::map<std::string, std::string>& files) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path root = fs::path(testing::TempDir()) / info->name();
  fs::remove_all(root);
  for (const auto& [path, content] : files) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << content;
  }
  return root.string();
}

TEST(Cgroup, LimitsNothingWhereThereIsNone) {
  const CgroupLimits limits = ReadCgroupLimits(Root({}));
  EXPECT_FALSE(limits.cpus || limits.nodes || limits.quota_cpus);
}

TEST(Cgroup, ReadsTheOwnGroupOfVersion2) {
  const CgroupLimits limits = ReadCgroupLimits(Root({
      {"proc/self/mounts", kV2Mount},
      {"proc/self/cgroup", "0::/jobs/a\n"},
      {"sys/fs/cgroup/cpuset.cpus.effective", "0-15\n"},
      {"sys/fs/cgroup/jobs/a/cpuset.cpus.effective", "4-7\n"},
      {"sys/fs/cgroup/jobs/a/cpuset.mems.effective", "1\n"},
      {"sys/fs/cgroup/jobs/a/cpu.max", "max 100000\n"},
  }));
  EXPECT_EQ(limits.cpus->ToString(), "4-7");
  EXPECT_EQ(limits.nodes->ToString(), "1");
  EXPECT_FALSE(limits.quota_cpus);
}

TEST(Cgroup, TakesTheSmallestQuotaOnTheWayUp) {
  const CgroupLimits limits = ReadCgroupLimits(Root({
      {"proc/self/mounts", kV2Mount},
      {"proc/self/cgroup", "0::/jobs/a\n"},
      {"sys/fs/cgroup/jobs/cpu.max", "150000 100000\n"},
      {"sys/fs/cgroup/jobs/a/cpu.max", "400000 100000\n"},
  }));
  EXPECT_DOUBLE_EQ(*limits.quota_cpus, 1.5);
}

TEST(Cgroup, ReadsVersion1) {
  const CgroupLimits limits = ReadCgroupLimits(Root({
      {"proc/self/mounts",
       "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
       "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"},
      {"proc/self/cgroup", "4:cpuset:/box\n3:cpu,cpuacct:/box\n"},
      {"sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n"},
      {"sys/fs/cgroup/cpuset/box/cpuset.cpus", "1\n"},
      {"sys/fs/cgroup/cpuset/box/cpuset.mems", "0\n"},
      {"sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n"},
      {"sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"},
  }));
  EXPECT_EQ(limits.cpus->ToString(), "1");
  EXPECT_DOUBLE_EQ(*limits.quota_cpus, 2.0);
}

// In a container the group's path is the host's, and only its own part of the
// tree is mounted.
TEST(Cgroup, FallsBackToTheMountInAContainer) {
  const CgroupLimits limits = ReadCgroupLimits(Root({
      {"proc/self/mounts", kV2Mount},
      {"proc/self/cgroup", "0::/docker/0123\n"},
      {"sys/fs/cgroup/cpuset.cpus.effective", "2-3\n"},
  }));
  EXPECT_EQ(limits.cpus->ToString(), "2-3");
}

TEST(Cgroup, KnowsItsOwnGroup) {
  const std::string root = Root({
      {"proc/self/mounts", kV2Mount},
      {"proc/self/cgroup", "0::/jobs/a\n"},
      {"sys/fs/cgroup/jobs/a/cgroup.procs", ""},
  });
  EXPECT_EQ(OwnCgroup2(root), root + "/sys/fs/cgroup/jobs/a");
  EXPECT_EQ(OwnCgroup2(Root({})), "");
}

TEST(Cgroup, UnlimitedQuotaOfVersion1IsNone) {
  const CgroupLimits limits = ReadCgroupLimits(Root({
      {"proc/self/mounts", "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"},
      {"proc/self/cgroup", "3:cpu:/\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
  }));
  EXPECT_FALSE(limits.quota_cpus);
}

}  // namespace
}  // namespace slipway::launcher
