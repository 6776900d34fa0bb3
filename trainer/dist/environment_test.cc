#include "trainer/dist/environment.h"

#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::dist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

Environment Read(const Variables& variables, Problems& problems) {
  return ReadEnvironment(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found != variables.end() ? found->second.c_str() : nullptr;
      },
      problems);
}

Variables Torchrun() {
  return {{"RANK", "3"},           {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
}

TEST(Environment, IsAloneWithoutVariables) {
  Problems problems;
  const Environment here = Read({}, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(here.rank, 0);
  EXPECT_EQ(here.world_size, 1);
  EXPECT_FALSE(here.store_fd);
  EXPECT_FALSE(here.heartbeat_fd);
}

TEST(Environment, IsAloneInAWorldOfOne) {
  Problems problems;
  EXPECT_EQ(Read({{"WORLD_SIZE", "1"}, {"RANK", "0"}}, problems).world_size, 1);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(Environment, ReadsWhatTorchrunSets) {
  Variables variables = Torchrun();
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  Problems problems;
  const Environment here = Read(variables, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(here.rank, 3);
  EXPECT_EQ(here.world_size, 4);
  EXPECT_EQ(here.local_rank, 1);
  EXPECT_EQ(here.local_world_size, 2);
  EXPECT_EQ(here.master_addr, "host");
  EXPECT_EQ(here.master_port, 29500);
  EXPECT_EQ(here.restart, 2);
  EXPECT_TRUE(here.agent_store);
}

TEST(Environment, ReadsWhatTheLauncherSets) {
  Variables variables = Torchrun();
  variables.insert({{"SLIPWAY_HEARTBEAT_FD", "7"},
                    {"SLIPWAY_PLAN_HASH", "abc"},
                    {"SLIPWAY_RESTART", "1"},
                    {"SLIPWAY_PEER_TIMEOUT", "90s"}});
  Problems problems;
  const Environment here = Read(variables, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(here.heartbeat_fd, 7);
  EXPECT_EQ(here.plan_hash, "abc");
  EXPECT_EQ(here.restart, 1);
  EXPECT_EQ(here.peer_timeout, std::chrono::seconds(90));
}

TEST(Environment, LeavesTheStoreToRankZero) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(listen(listener, 1), 0);
  Variables variables = Torchrun();
  variables["SLIPWAY_STORE_FD"] = std::to_string(listener);
  Problems problems;
  EXPECT_FALSE(Read(variables, problems).store_fd);
  variables["RANK"] = "0";
  EXPECT_EQ(Read(variables, problems).store_fd, listener);
  EXPECT_THAT(problems, IsEmpty());
  close(listener);
}

TEST(Environment, TellsAllThatIsWrongAtOnce) {
  Problems problems;
  const Environment here = Read({{"WORLD_SIZE", "4"},
                                 {"RANK", "4"},
                                 {"LOCAL_RANK", "one"},
                                 {"MASTER_PORT", "0"},
                                 {"SLIPWAY_HEARTBEAT_FD", "x"},
                                 {"SLIPWAY_PEER_TIMEOUT", "soon"}},
                                problems);
  std::vector<std::string> messages;
  for (const Problem& problem : problems) messages.push_back(problem.message);
  EXPECT_THAT(
      messages,
      ElementsAre("RANK is \"4\"", "LOCAL_RANK is \"one\"",
                  "MASTER_ADDR is not set, and WORLD_SIZE is above 1",
                  "MASTER_PORT is \"0\"", "SLIPWAY_HEARTBEAT_FD is \"x\"",
                  "SLIPWAY_PEER_TIMEOUT is \"soon\""));
  EXPECT_EQ(problems[0].hint, "set it to a number from 0 to 3");
  EXPECT_EQ(here.world_size, 1);
}

TEST(Environment, RefusesARankWithoutAWorld) {
  Problems problems;
  Read({{"RANK", "1"}}, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "RANK is set, but WORLD_SIZE is not");
}

TEST(Environment, RefusesAStoreThatDoesNotListen) {
  Variables variables = Torchrun();
  variables["RANK"] = "0";
  variables["LOCAL_RANK"] = "0";
  variables["SLIPWAY_STORE_FD"] = "0";
  Problems problems;
  Read(variables, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("no listening socket"));
}

}  // namespace
}  // namespace slipway::dist
