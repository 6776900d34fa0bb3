#include "trainer/loop/available_memory.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

class AvailableMemoryTest : public testing::Test {
 protected:
  AvailableMemoryTest() { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

  void WriteGroup(const std::string& path, const std::string& limit,
                  const std::string& used, const std::string& cache) {
    Write("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    Write("/sys/fs/cgroup" + path + "/memory.current", used + "\n");
    Write("/sys/fs/cgroup" + path + "/memory.stat",
          "anon 1\ninactive_file " + cache + "\n");
  }

  std::string root_ = testing::TempDir() + "/available_memory_test";
};

TEST_F(AvailableMemoryTest, IsWhatTheMachineHasLeft) {
  Write("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   40 kB\n");
  EXPECT_EQ(AvailableMemory(root_), 40 * 1024);
}

TEST_F(AvailableMemoryTest, IsUnknownWhereNothingTells) {
  EXPECT_EQ(AvailableMemory(root_), 0);
}

TEST_F(AvailableMemoryTest, KeepsToTheTightestGroup) {
  Write("/proc/meminfo", "MemAvailable: 4000 kB\n");
  Write("/proc/self/cgroup", "0::/a/b\n");
  WriteGroup("/a/b", "max", "10000", "0");
  EXPECT_EQ(AvailableMemory(root_), 4000 * 1024);
  WriteGroup("/a", "100000", "30000", "5000");
  EXPECT_EQ(AvailableMemory(root_), 100000 - (30000 - 5000));
  WriteGroup("/a/b", "20000", "50000", "0");
  EXPECT_EQ(AvailableMemory(root_), 0);
}

TEST_F(AvailableMemoryTest, FindsAContainersLimitAtItsRoot) {
  Write("/proc/meminfo", "MemAvailable: 4000 kB\n");
  Write("/proc/self/cgroup", "0::/../host/path\n");
  WriteGroup("", "70000", "20000", "0");
  EXPECT_EQ(AvailableMemory(root_), 50000);
}

TEST_F(AvailableMemoryTest, KnowsTheFirstVersion) {
  Write("/proc/meminfo", "MemAvailable: 4000 kB\n");
  Write("/proc/self/cgroup",
        "5:cpu,cpuacct:/x\n4:memory:/job\nnonsense\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "90000\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "30000\n");
  Write("/sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 1000\n");
  EXPECT_EQ(AvailableMemory(root_), 61000);
}

TEST(ResidentMemory, FollowsWhatTheProcessTouches) {
  const int64_t before = ResidentMemory();
  EXPECT_GT(before, 0);
  ResetPeakResident();
  {
    const std::vector<char> block(64 << 20, 'x');
    EXPECT_GE(ResidentMemory(), before + block.size() / 2);
  }
  EXPECT_GE(PeakResidentMemory(), before + (32 << 20));
}

}  // namespace
}  // namespace slipway::loop
