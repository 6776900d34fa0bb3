#include "launcher/launch_plan.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Topology Machine() {
  return *ReadTopology({.topology = "pack:2 [numa(memory=8GB)] core:2 pu:2"});
}

LaunchFlags FlagsOf(std::vector<std::string> arguments) {
  Problems problems;
  arguments.insert(arguments.begin(), "plan");
  LaunchFlags flags = ParseLaunchFlags(arguments, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return flags;
}

LaunchPlan PlanOf(const std::vector<std::string>& arguments,
                  const Topology& machine = Machine(),
                  const Training* training = nullptr) {
  Problems problems;
  std::optional<LaunchPlan> plan =
      MakeLaunchPlan(FlagsOf(arguments), machine, training, problems);
  EXPECT_TRUE(plan) << FormatProblems(problems);
  plan->nodes[0].host = "here";
  return *plan;
}

TEST(MakeLaunchPlan, CountsProcesses) {
  EXPECT_EQ(PlanOf({}).world_size(), 1);
  EXPECT_EQ(PlanOf({"--num_processes=3"}).world_size(), 3);
  EXPECT_EQ(PlanOf({"--num_processes=auto"}).world_size(), 2);
  EXPECT_EQ(PlanOf({"--cpu_for_each_process=0;2;4"}).world_size(), 3);
}

TEST(MakeLaunchPlan, TakesTheRecipesNumber) {
  Training training;
  training.composed.recipe = recipe::Node::Map();
  training.processes_asked = 4;
  EXPECT_EQ(
      PlanOf({"--num_processes=recipe"}, Machine(), &training).world_size(), 4);
  training.processes_asked = 0;  // one per device, and there is none
  EXPECT_EQ(
      PlanOf({"--num_processes=recipe"}, Machine(), &training).world_size(), 2);
  Topology machine = Machine();
  machine.gpus.resize(3);
  EXPECT_EQ(PlanOf({"--num_processes=recipe"}, machine, &training).world_size(),
            3);
}

TEST(MakeLaunchPlan, LeavesTheRateToARecipeForSeveralProcesses) {
  Training training;
  training.composed.recipe = recipe::Node::Map();
  EXPECT_TRUE(PlanOf({}, Machine(), &training).nodes[0].environment.auto_lr);
  EXPECT_FALSE(PlanOf({"--auto_lr=false"}, Machine(), &training)
                   .nodes[0]
                   .environment.auto_lr);
  training.processes_asked = 2;
  EXPECT_FALSE(PlanOf({}, Machine(), &training).nodes[0].environment.auto_lr);
}

TEST(MakeLaunchPlan, LetsThreadsSleepWhereCoresAreShared) {
  EXPECT_FALSE(PlanOf({"--num_processes=2"}).nodes[0].environment.shared_cores);
  EXPECT_TRUE(PlanOf({"--num_processes=2", "--bind=none"})
                  .nodes[0]
                  .environment.shared_cores);
  Topology machine = Machine();
  machine.quota_cpus = 1;
  const LaunchPlan plan = PlanOf({"--num_processes=2"}, machine);
  EXPECT_TRUE(plan.nodes[0].environment.shared_cores);
  EXPECT_THAT(FormatProblems(plan.problems),
              HasSubstr("2 ranks share a cgroup's quota of 1.00 CPUs"));
}

TEST(MakeLaunchPlan, MayHaveMoreRanksThanCoresIfNoneIsBound) {
  EXPECT_EQ(PlanOf({"--num_processes=9", "--bind=none"}).world_size(), 9);
  EXPECT_EQ(PlanOf({"--num_processes=auto", "--bind=none"}).world_size(), 2);
}

TEST(MakeLaunchPlan, TellsEverythingAtOnce) {
  Problems problems;
  EXPECT_FALSE(MakeLaunchPlan(
      FlagsOf({"--num_processes=2", "--cpu_for_each_process=99"}), Machine(),
      nullptr, problems));
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("one list for each of 2 processes"));
  EXPECT_THAT(text, HasSubstr("names CPU 99"));

  problems.clear();
  EXPECT_FALSE(MakeLaunchPlan(FlagsOf({"--num_processes=recipe"}), Machine(),
                              nullptr, problems));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("without a recipe"));
}

TEST(FormatLaunchPlan, ShowsEverythingThatWouldHappen) {
  LaunchPlan plan = PlanOf({"--num_processes=2", "--allocator=glibc"});
  plan.batch = BatchSize{.per_rank = 64, .accumulate = 2};
  EXPECT_EQ(FormatLaunchPlan(plan),
            "2 ranks on here, policy spread\n"
            "rank  CPUs                 package  node     memory   threads\n"
            "0     0,2                  0        0        0        2\n"
            "1     4,6                  1        1        1        2\n"
            "unused: 1,3,5,7 (smt: further hardware threads of cores in use; "
            "see --smt)\n"
            "batch: 256 samples a step (2 ranks of 64, accumulated over 2 "
            "batches)\n"
            "environment of every rank:\n"
            "  GROUP_RANK=0\n"
            "  LOCAL_WORLD_SIZE=2\n"
            "  MASTER_ADDR=127.0.0.1\n"
            "  OMP_NUM_THREADS=2\n"
            "  SLIPWAY_AUTO_LR=1\n"
            "  SLIPWAY_RESTART=0\n"
            "  WORLD_SIZE=2\n");
}

TEST(ToJson, HasTheContractsFields) {
  const json plan = ToJson(PlanOf({"--num_processes=2"}));
  EXPECT_EQ(plan["schema"], 1);
  EXPECT_EQ(plan["backend"], "subprocess");
  EXPECT_EQ(plan["policy"], "spread");
  EXPECT_EQ(plan["world_size"], 2);
  EXPECT_EQ(plan["nodes"], json({"here"}));
  EXPECT_EQ(plan["ranks"].size(), 2u);
  const json& rank = plan["ranks"][1];
  EXPECT_EQ(rank["local_rank"], 1);
  EXPECT_EQ(rank["cpus"], json({4, 6}));
  EXPECT_EQ(rank["memory_nodes"], json({1}));
  EXPECT_TRUE(rank["gpu"].is_null());
  EXPECT_EQ(rank["straddles"], false);
  EXPECT_EQ(rank["env"]["RANK"], "1");
  EXPECT_EQ(plan["unused"][0],
            json({{"node", "here"}, {"cpu", 1}, {"reason", "smt"}}));
  EXPECT_TRUE(plan["plugin_plan"].is_null());
  EXPECT_EQ(plan["problems"], json::array());
}

TEST(RefusedPlan, HasTheProblems) {
  const json plan =
      RefusedPlan({{.kind = "value", .message = "no such thing"}});
  EXPECT_EQ(plan["ranks"], json::array());
  EXPECT_EQ(plan["problems"][0]["message"], "no such thing");
}

}  // namespace
}  // namespace slipway::launcher
