#include "launcher/environment/environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

RankPlacement SomeRank() { return {.rank = 1, .cpus = {2, 3}, .threads = 2}; }

TEST(RankEnvironment, SetsWhatTorchrunSets) {
  const EnvironmentPlan plan = RankEnvironment(
      {.world_size = 4, .local_world_size = 4, .master_port = 1234},
      SomeRank());
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"RANK", "1"},
                                          {"LOCAL_RANK", "1"},
                                          {"WORLD_SIZE", "4"},
                                          {"LOCAL_WORLD_SIZE", "4"},
                                          {"GROUP_RANK", "0"},
                                          {"MASTER_ADDR", "127.0.0.1"},
                                          {"MASTER_PORT", "1234"},
                                          {"OMP_NUM_THREADS", "2"},
                                          {"SLIPWAY_CPUS", "2-3"},
                                          {"SLIPWAY_RESTART", "0"},
                                          {"SLIPWAY_AUTO_LR", "1"}}) {
    EXPECT_THAT(plan.set, Contains(Pair(name, value)));
  }
  EXPECT_EQ(plan.set.count("OMP_WAIT_POLICY"), 0u);
  EXPECT_EQ(plan.set.count("LD_PRELOAD"), 0u);
}

TEST(RankEnvironment, LetsThreadsSleepWhereCoresAreShared) {
  const EnvironmentPlan plan =
      RankEnvironment({.shared_cores = true}, SomeRank());
  EXPECT_THAT(plan.set, Contains(Pair("OMP_WAIT_POLICY", "passive")));
}

TEST(RankEnvironment, KeepsTheUsersPreload) {
  const EnvironmentPlan plan =
      RankEnvironment({.allocator = Allocator::kJemalloc,
                       .allocator_library = "/lib/libjemalloc.so.2",
                       .user_preload = "/home/me/mine.so"},
                      SomeRank());
  EXPECT_THAT(
      plan.set,
      Contains(Pair("LD_PRELOAD", "/lib/libjemalloc.so.2:/home/me/mine.so")));
}

TEST(RankEnvironment, PreloadsOneAllocatorOnly) {
  const EnvironmentRequest request = {
      .allocator = Allocator::kTcmalloc,
      .allocator_library = "/lib/libtcmalloc_minimal.so.4",
      .user_preload =
          "/lib/libtcmalloc_minimal.so.4:/lib/libjemalloc.so.2 /mine.so"};
  EXPECT_THAT(
      RankEnvironment(request, SomeRank()).set,
      Contains(Pair("LD_PRELOAD", "/lib/libtcmalloc_minimal.so.4:/mine.so")));
}

TEST(RankEnvironment, LeavesNothingOfALaunchAroundIt) {
  const EnvironmentPlan plan = RankEnvironment({}, SomeRank());
  EXPECT_EQ(plan.set.count("MASTER_PORT"), 0u);
  EXPECT_THAT(Apply(plan, {"SLIPWAY_STORE_FD=5", "SLIPWAY_HEARTBEAT_FD=6",
                           "SLIPWAY_PLAN_HASH=7", "MASTER_PORT=8"}),
              ElementsAreArray(Apply(plan, {})));
}

TEST(ShellEnvironment, SetsNoRank) {
  const EnvironmentPlan plan = ShellEnvironment({}, 3);
  EXPECT_THAT(plan.set, Contains(Pair("OMP_NUM_THREADS", "3")));
  EXPECT_THAT(plan.set, Contains(Pair("MALLOC_TRIM_THRESHOLD_", "-1")));
  EXPECT_EQ(plan.set.count("RANK"), 0u);
  EXPECT_THAT(plan.unset, Contains("KMP_AFFINITY"));
}

TEST(RankEnvironment, TunesGlibcUnlessAskedNotTo) {
  EXPECT_EQ(RankEnvironment({}, SomeRank()).set.count("MALLOC_TOP_PAD_"), 1u);
  EXPECT_EQ(RankEnvironment({.allocator = Allocator::kGlibc}, SomeRank())
                .set.count("MALLOC_TOP_PAD_"),
            0u);
}

TEST(Apply, RemovesInheritedBindingAndReplaces) {
  EnvironmentPlan plan = {.set = {{"RANK", "1"}}, .unset = {"KMP_AFFINITY"}};
  EXPECT_THAT(Apply(plan, {"HOME=/root", "RANK=9", "KMP_AFFINITY=compact",
                           "KMP_AFFINITY_X=kept"}),
              ElementsAre("HOME=/root", "KMP_AFFINITY_X=kept", "RANK=1"));
}

TEST(FormatForShell, QuotesValues) {
  EXPECT_EQ(FormatForShell({.set = {{"A", "it's"}}, .unset = {"B"}}),
            "unset B\nexport A='it'\\''s'\n");
}

TEST(ToJson, HasTheContractsFields) {
  EXPECT_EQ(ToJson(EnvironmentPlan{.set = {{"A", "1"}}, .unset = {"B"}}).dump(),
            R"({"schema":1,"set":{"A":"1"},"unset":["B"]})");
}

TEST(FindAllocator, NamesThePackageOfAnAbsentOne) {
  Problems problems;
  const std::string path = FindAllocator(Allocator::kTcmalloc, problems);
  EXPECT_EQ(path.empty(), HasErrors(problems));
  if (path.empty()) {
    EXPECT_THAT(problems[0].hint, HasSubstr("libtcmalloc-minimal4"));
  }
}

TEST(FindAllocator, NeedsNothingForGlibc) {
  Problems problems;
  EXPECT_EQ(FindAllocator(Allocator::kTuned, problems), "");
  EXPECT_TRUE(problems.empty());
}

}  // namespace
}  // namespace slipway::launcher
