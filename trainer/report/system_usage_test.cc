#include "trainer/report/system_usage.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

constexpr char kStat[] =
    "cpu  100 5 20 300 40 1 2 3 50 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
constexpr char kDisks[] =
    "   8       0 sda 10 0 100 5 20 0 200 9 0 3 4\n"
    "   8       1 sda1 10 0 100 5 20 0 200 9 0 3 4\n"
    " 259       0 nvme0n1 1 0 10 5 2 0 20 9 0 3 4\n"
    " 259       1 nvme0n1p1 1 0 10 5 2 0 20 9 0 3 4\n"
    "   7       0 loop0 9 0 900 5 9 0 900 9 0 3 4\n"
    " 253       0 dm-0 9 0 900 5 9 0 900 9 0 3 4\n"
    " 254       0 vda 1 0 1 5 2 0 2 9 0 3 4\n";
constexpr char kNetwork[] =
    "Inter-|   Receive                  |  Transmit\n"
    " face |bytes packets errs drop fifo frame compressed multicast|bytes\n"
    "    lo: 777 1 0 0 0 0 0 0 777 1 0 0 0 0 0 0\n"
    "  eth0: 1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
    "  eth1:1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";

TEST(SystemUsage, AddsUpWhatProcTells) {
  const SystemCounters sum = ParseSystemCounters(kStat, kDisks, kNetwork);
  EXPECT_EQ(sum.cpu_ticks, 471);
  EXPECT_EQ(sum.idle_ticks, 340);
  EXPECT_EQ(sum.disk_read, 512 * (100 + 10 + 1));
  EXPECT_EQ(sum.disk_written, 512 * (200 + 20 + 2));
  EXPECT_EQ(sum.received, 1001);
  EXPECT_EQ(sum.sent, 2002);
}

TEST(SystemUsage, TakesWhatIsMissingForNothing) {
  const SystemCounters sum = ParseSystemCounters("", "8 0 sda", "eth0: 1");
  EXPECT_EQ(sum.cpu_ticks, 0);
  EXPECT_EQ(sum.disk_read, 0);
  EXPECT_EQ(sum.received, 0);
}

TEST(SystemUsage, HasSuperGradientsNames) {
  SystemUsage usage(testing::TempDir(), 10);
  double busy = 0;
  for (int i = 1; i < 30'000'000; ++i) busy += 1.0 / i;
  ASSERT_GT(busy, 0);
  std::map<std::string, double> values;
  for (const auto& [name, value] : usage.Take(40)) values[name] = value;
  EXPECT_EQ(usage.since(), 40);
  for (const char* share : {"cpu", "memory", "disk"}) {
    const double percent =
        values[std::string("System/") + share + ".usage_percent"];
    EXPECT_GT(percent, 0) << share;
    EXPECT_LE(percent, 100) << share;
  }
  EXPECT_TRUE(values.contains("System/disk.io_read_mbs"));
  EXPECT_TRUE(values.contains("System/disk.io_write_mbs"));
  EXPECT_TRUE(values.contains("System/network.network_sent_mbs"));
  EXPECT_TRUE(values.contains("System/network.network_recv_mbs"));
}

}  // namespace
}  // namespace slipway
