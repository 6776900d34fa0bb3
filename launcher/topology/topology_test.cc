#include "launcher/topology/topology.h"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology Synthetic(const std::string& description) {
  absl::StatusOr<Topology> topology = ReadTopology({.topology = description});
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *topology;
}

TEST(Topology, ReadsTwoPackagesWithIntelsNumbering) {
  const Topology machine = Synthetic(
      "pack:2 [numa(memory=64GB)] l3:1 core:4 pu:2(indexes=core:pack)");
  ASSERT_EQ(machine.packages.size(), 2u);
  EXPECT_EQ(machine.source, Topology::Source::kSynthetic);
  const NumaNode& node = machine.packages[1].numa_nodes.at(0);
  EXPECT_EQ(node.id, 1);
  EXPECT_GT(node.memory_bytes, 60'000'000'000u);
  ASSERT_EQ(node.l3.size(), 1u);
  ASSERT_EQ(node.l3[0].cores.size(), 4u);
  EXPECT_THAT(node.l3[0].cores[0].cpus, ElementsAre(4, 12));
  EXPECT_EQ(machine.allowed_cpus.ToString(), "0-15");
}

TEST(Topology, ReadsSubNumaClusters) {
  const Topology machine = Synthetic("pack:2 numa:2 core:3 pu:1");
  EXPECT_EQ(machine.packages[0].numa_nodes.size(), 2u);
  EXPECT_EQ(machine.packages[1].numa_nodes[1].id, 3);
  EXPECT_EQ(machine.packages[1].numa_nodes[1].l3[0].cores.size(), 3u);
}

TEST(Topology, TellsCachesApart) {
  const Topology machine = Synthetic("pack:1 [numa] l3:4 core:2 pu:1");
  const std::vector<CacheGroup>& groups = machine.packages[0].numa_nodes[0].l3;
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[3].cores[1].id, 7);
}

TEST(Topology, SharesANodeThatSpansPackages) {
  const Topology machine = Synthetic("[numa] pack:2 core:2 pu:1");
  ASSERT_EQ(machine.packages.size(), 2u);
  EXPECT_EQ(machine.packages[1].numa_nodes[0].id, 0);
  EXPECT_EQ(machine.packages[1].numa_nodes[0].l3[0].cores[0].cpus[0], 2);
}

TEST(Topology, RefusesWhatIsNoDescription) {
  const absl::Status status = ReadTopology({.topology = "sockets=2"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sockets=2"));
  EXPECT_FALSE(ReadTopology({.topology = "/nowhere/machine.xml"}).ok());
}

TEST(Topology, SaysWhatIsMissingWhereNoSysfsIsMounted) {
  const std::string root = testing::TempDir() + "/no_sysfs";
  std::filesystem::create_directories(root + "/proc");
  const absl::Status status = ReadTopology({.root = root}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/sys has to be mounted"));
}

TEST(Topology, ReadsThisMachineWithinItsAffinityMask) {
  cpu_set_t saved;
  ASSERT_EQ(sched_getaffinity(0, sizeof(saved), &saved), 0);
  absl::StatusOr<Topology> whole = ReadTopology({});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->source, Topology::Source::kNative);
  const int first = *whole->allowed_cpus.begin();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  absl::StatusOr<Topology> narrow = ReadTopology({});
  sched_setaffinity(0, sizeof(saved), &saved);
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(narrow->allowed_cpus, CpuSet({first}));
  EXPECT_EQ(narrow->AllCpus(), whole->AllCpus());
}

TEST(Topology, PrintsATree) {
  Topology machine = Synthetic("pack:1 [numa(memory=16GB)] l3:2 core:2 pu:2");
  machine.allowed_cpus = {0, 1, 2, 3, 4, 5};
  machine.quota_cpus = 1.5;
  machine.gpus = {{.index = 0, .pci = "0000:3b:00.0", .numa_node = 0}};
  EXPECT_EQ(FormatTopology(machine),
            "package 0\n"
            "  NUMA node 0  16.0 GB\n"
            "    L3 0  cores 0,1  2,3\n"
            "    L3 1  cores 4,5  (6,7)\n"
            "GPU 0  0000:3b:00.0  NUMA node 0\n"
            "allowed CPUs: 0-5\n"
            "CPU quota: 1.50 CPUs\n");
}

TEST(Topology, WritesTheContractsJson) {
  const nlohmann::ordered_json json =
      ToJson(Synthetic("pack:1 [numa(memory=1MB)] l3:1 core:1 pu:2"));
  EXPECT_EQ(json["source"], "synthetic");
  EXPECT_EQ(json["allowed_cpus"], nlohmann::json({0, 1}));
  EXPECT_TRUE(json["quota_cpus"].is_null());
  EXPECT_EQ(json["packages"][0]["numa_nodes"][0]["l3"][0]["cores"][0]["cpus"],
            nlohmann::json({0, 1}));
}

TEST(Topology, ComesBackFromItsJson) {
  for (const char* machine : {"pack:2 [numa] core:4 pu:2", "core:2 pu:1"}) {
    absl::StatusOr<Topology> topology = ReadTopology({.topology = machine});
    ASSERT_TRUE(topology.ok()) << topology.status();
    topology->allowed_memory = CpuSet({0});
    topology->quota_cpus = 1.5;
    topology->gpus = {{.index = 0, .pci = "0000:01:00.0", .numa_node = 1}};
    const nlohmann::json document = ToJson(*topology);
    const absl::StatusOr<Topology> back = TopologyFromJson(document);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(nlohmann::json(ToJson(*back)), document);
  }
}

TEST(Topology, IsRefusedFromOtherJson) {
  EXPECT_FALSE(TopologyFromJson(nlohmann::json::array()).ok());
  EXPECT_FALSE(TopologyFromJson({{"packages", 3}}).ok());
}

}  // namespace
}  // namespace slipway::launcher
