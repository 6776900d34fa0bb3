#include "launcher/ray/seats.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Topology Machine(const char* description) {
  absl::StatusOr<Topology> topology = ReadTopology({.topology = description});
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *topology;
}

RayNode Node(const std::string& address, const std::string& total) {
  const Resources resources = *ParseResources(total);
  return {.address = address,
          .host = "host",
          .total = resources,
          .available = resources};
}

TEST(ParseResources, ReadsNamesAndAmounts) {
  const absl::StatusOr<Resources> resources =
      ParseResources("CPU=2,GPU=0.5,fast_disk=1");
  ASSERT_TRUE(resources.ok());
  EXPECT_EQ(FormatResources(*resources), "CPU=2,GPU=0.5,fast_disk=1");
  for (const char* wrong : {"CPU", "CPU=x", "CPU=0", "=1", "CPU=-1", "a=1=2"}) {
    EXPECT_THAT(ParseResources(wrong).status().message(), HasSubstr(wrong));
  }
}

struct RoomCase {
  const char* strategy;
  int seats;
  bool room;
};

TEST(WhyNoRoom, CountsByStrategy) {
  const std::vector<RayNode> nodes = {Node("10.0.0.1", "CPU=4"),
                                      Node("10.0.0.2", "CPU=3"),
                                      Node("10.0.0.3", "CPU=1")};
  const RoomCase cases[] = {
      {"pack", 3, true},          {"pack", 4, false},
      {"spread", 3, true},        {"spread", 4, false},
      {"strict_pack", 2, true},   {"strict_pack", 3, false},
      {"strict_spread", 2, true}, {"strict_spread", 3, false},
  };
  for (const RoomCase& one : cases) {
    const std::string why = WhyNoRoom(nodes, {.seats = one.seats,
                                              .strategy = one.strategy,
                                              .resources = {{"CPU", 2}}});
    EXPECT_EQ(why.empty(), one.room)
        << one.strategy << " " << one.seats << ": " << why;
  }
}

TEST(WhyNoRoom, SaysWhatThereIsAndWhatWasAsked) {
  const std::vector<RayNode> nodes = {
      Node("10.0.0.1", "CPU=4,memory=1e9,node:10.0.0.1=1")};
  EXPECT_THAT(
      WhyNoRoom(nodes, {.seats = 2, .resources = {{"CPU", 1}, {"GPU", 1}}}),
      AllOf(HasSubstr("2 ranks of CPU=1,GPU=1"), HasSubstr("room for 0"),
            HasSubstr("10.0.0.1 (host): CPU=4; free: CPU=4\n")));
}

TEST(GroupByHost, NumbersByMachineInTheOrderOfAddresses) {
  const Topology machine = Machine("core:4 pu:1");
  const std::vector<Host> hosts =
      GroupByHost({{"10.0.0.10", "b", "2", machine},
                   {"10.0.0.9", "a", "1", machine},
                   {"10.0.0.10", "b", "2", machine},
                   {"10.0.0.9", "a", "1", machine}});
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "a");
  EXPECT_EQ(hosts[0].address, "10.0.0.9");
  EXPECT_THAT(hosts[0].seats, ElementsAre(1, 3));
  EXPECT_THAT(hosts[1].seats, ElementsAre(0, 2));
}

// Two raylets on one machine, or two network namespaces.
TEST(GroupByHost, TakesRayletsOfOneMachineTogether) {
  const Topology machine = Machine("core:4 pu:1");
  const std::vector<Host> hosts = GroupByHost(
      {{"10.0.0.2", "a", "1", machine}, {"10.0.0.1", "a", "1", machine}});
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].address, "10.0.0.1");
  EXPECT_THAT(hosts[0].seats, ElementsAre(1, 0));
  EXPECT_THAT(hosts[0].addresses, ElementsAre("10.0.0.1", "10.0.0.2"));
}

// Containers share a boot id, and have CPUs and names of their own.
TEST(GroupByHost, KeepsContainersWithOtherCpusApart) {
  Topology one = Machine("core:4 pu:1"), other = one;
  one.allowed_cpus = {0, 1};
  other.allowed_cpus = {2, 3};
  const std::vector<Host> hosts = GroupByHost(
      {{"10.0.0.1", "same", "1", one}, {"10.0.0.2", "same", "1", other}});
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "same (10.0.0.1)");
  EXPECT_EQ(hosts[1].name, "same (10.0.0.2)");
  EXPECT_THAT(GroupByHost({}), IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
