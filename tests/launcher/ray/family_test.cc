// What holds of ranks on a cluster, whoever grants the places: with real agents
// behind a stand-in for the driver, and with Ray.
#include <signal.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/ray/cluster.h"

namespace slipway {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(OnACluster, RanksRunWithTheirEnvironmentAndTheirOutputComes) {
  const Launched run = RunOnRay(
      {"--num_processes=2", "--prefix=<{rank}> "},
      "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $MINE; "
      "echo err $RANK >&2",
      {{"MINE", "of the user"}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(Lines(run.out),
              UnorderedElementsAre("<0> 0 0 2 2 0 of the user",
                                   "<1> 1 1 2 2 0 of the user"));
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("<0> err 0\n"), HasSubstr("<1> err 1\n")));
  EXPECT_EQ(run.report["backend"], "ray");
  EXPECT_EQ(run.report["world_size"], 2);
  EXPECT_EQ(run.report["attempts"][0]["ranks"][1]["exit_code"], 0);
  EXPECT_GT(run.report["attempts"][0]["ranks"][1]["pid"], 0);
}

TEST(OnACluster, TheEnvironmentOfRaysWorkersStaysAway) {
  const Launched run = RunOnRay({}, "env; pwd");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(absl::StrContains(run.out, "[0] RAY_"));
  EXPECT_FALSE(absl::StrContains(run.out, "[0] LD_LIBRARY_PATH"));
  EXPECT_THAT(run.out, HasSubstr("OMP_NUM_THREADS="));
  EXPECT_THAT(run.out, HasSubstr("[0] PATH="));
}

TEST(OnACluster, RanksAreBoundAsPlanned) {
  if (UsableCores() < 2) GTEST_SKIP() << "two ranks need two cores";
  const Launched run = RunOnRay({"--num_processes=2", "--bind=strict"},
                                "grep Cpus_allowed_list /proc/self/status");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::set<int> taken;
  for (int rank = 0; rank < 2; ++rank) {
    const json planned = run.report["plan"]["ranks"][rank]["cpus"];
    EXPECT_EQ(run.report["attempts"][0]["ranks"][rank]["cpus_bound"], planned);
    for (const int cpu : planned) {
      EXPECT_TRUE(taken.insert(cpu).second) << "CPU " << cpu << " twice";
    }
  }
}

TEST(OnACluster, ListsOfCpusAreOfEachNode) {
  const Launched run =
      RunOnRay({"--cpu_for_each_process=[[1],[0]]", "--bind=strict"},
               "grep Cpus_allowed_list /proc/self/status");
  if (UsableCores() < 2) GTEST_SKIP() << "two ranks need two cores";
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json& ranks = run.report["attempts"][0]["ranks"];
  EXPECT_EQ(ranks[0]["cpus_bound"], json({1}));
  EXPECT_EQ(ranks[1]["cpus_bound"], json({0}));
}

TEST(OnACluster, AllRanksMeetAtRankZerosNode) {
  const Launched run =
      RunOnRay({"--num_processes=2"}, "echo $MASTER_ADDR:$MASTER_PORT");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string first = Lines(run.out)[0];
  EXPECT_THAT(first, testing::MatchesRegex("\\[0(-1)?\\] [0-9.]+:[1-9][0-9]+"));
}

TEST(OnACluster, TheFirstFailureIsReportedAndEndsTheOthers) {
  const Launched run =
      RunOnRay({"--num_processes=2"},
               "[ $RANK = 1 ] && { echo last words >&2; exit 7; }; sleep 60");
  EXPECT_EQ(run.exit_code, 7);
  const json& failure = run.report["first_failure"];
  EXPECT_EQ(failure["rank"], 1);
  EXPECT_EQ(failure["reason"], "exit");
  EXPECT_EQ(failure["stderr_tail"], json({"last words"}));
  EXPECT_EQ(run.report["attempts"][0]["ranks"][0]["ended_by"], "launcher");
}

TEST(OnACluster, ASignalThatEndsARankIsNamed) {
  const Launched run =
      RunOnRay({"--num_processes=2"}, "[ $RANK = 0 ] && kill -9 $$; sleep 60");
  EXPECT_EQ(run.exit_code, 137);
  EXPECT_EQ(run.report["first_failure"]["signal"], "SIGKILL");
}

TEST(OnACluster, AProgramThatIsNoneIsAFailureToStart) {
  const std::string script = FreshFile("not_executable");
  const Launched run = RunOnRay({}, "exec " + script);
  EXPECT_EQ(run.exit_code, 127);
}

TEST(OnACluster, RanksThatDoNotEndAreKilledAfterTheGrace) {
  const std::string deaf = FreshFile("deaf");
  const Launched run = RunOnRay(
      {"--num_processes=2", "--grace=500ms"},
      absl::StrCat("F=", deaf,
                   "; if [ $RANK = 1 ]; then "
                   "while [ ! -s $F ]; do sleep 0.01; done; exit 3; fi; "
                   "trap '' TERM; echo 1 > $F; while :; do sleep 0.1; done"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.report["attempts"][0]["ranks"][0]["signal"], "SIGKILL");
}

TEST(OnACluster, CancelReachesEveryRank) {
  const std::string ready = FreshFile("ready");
  const std::string other = FreshFile("other");
  Launch launch(RayFlags({"--num_processes=2"}),
                absl::StrCat("trap 'echo bye $RANK; exit 0' TERM; "
                             "[ $RANK = 0 ] && echo 1 > ",
                             ready, "; [ $RANK = 1 ] && echo 1 > ", other,
                             "; sleep 60 & wait; wait"),
                ClusterEnvironment());
  ASSERT_EQ(NumberIn(ready), 1);
  ASSERT_EQ(NumberIn(other), 1);
  launch.Signal(SIGTERM);
  const Launched run = launch.Wait();
  EXPECT_THAT(run.out, AllOf(HasSubstr("[0] bye 0"), HasSubstr("[1] bye 1")));
  EXPECT_TRUE(run.report["first_failure"].is_null());
}

TEST(OnACluster, AllRanksStartAgainAfterAFailure) {
  const Launched run =
      RunOnRay({"--num_processes=2", "--max_restarts=1"},
               "echo attempt $SLIPWAY_RESTART; [ $SLIPWAY_RESTART = 1 ] || "
               "[ $RANK = 0 ] || exit 4");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(run.report["attempts"].size(), 2u);
  EXPECT_EQ(run.report["attempts"][0]["ranks"][1]["exit_code"], 4);
  EXPECT_THAT(run.out, HasSubstr("attempt 1"));
}

TEST(OnACluster, MuchOutputComesWhole) {
  const Launched run =
      RunOnRay({"--notee"}, "head -c 3000000 /dev/zero | tr '\\0' x");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.raw_out.size(), 3000000u);
}

TEST(OnACluster, AProgramThatSpawnsIsARankThere) {
  const Launched run = RunOnRay({"--num_processes=2"},
                                "exec " + RunfilePath("tests/examples/spawn"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[0] rank 0 of 2: pi is about 3.14"),
                             HasSubstr("[1] rank 1 of 2: pi is about 3.14")));
}

TEST(OnACluster, NoProcessIsLeft) {
  const std::string mark = absl::StrCat("100", getpid());
  const Launched run = RunOnRay(
      {"--num_processes=2"}, absl::StrCat("setsid sleep ", mark, " & exit 0"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

TEST(OnACluster, AKilledLauncherTakesItsRanksAlong) {
  const std::string mark = absl::StrCat("200", getpid());
  const std::string ready = FreshFile("ready");
  Launch launch(RayFlags({"--num_processes=1"}),
                absl::StrCat("sleep ", mark, " & echo $! > ", ready, "; wait"),
                ClusterEnvironment());
  const pid_t rank = NumberIn(ready);
  ASSERT_GT(rank, 0);
  launch.Signal(SIGKILL);
  launch.Wait();
  EXPECT_TRUE(Dies(rank));
}

TEST(OnACluster, ARankWithoutHeartbeatsIsEndedWithItsStack) {
  const Launched run = RunOnRay(
      {"--heartbeat_timeout=1s"},
      "echo beat > /proc/self/fd/$SLIPWAY_HEARTBEAT_FD; exec sleep 60");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.report["first_failure"]["reason"], "heartbeat");
  EXPECT_THAT(run.report["first_failure"]["stack"].get<std::string>(),
              HasSubstr("sleep"));
}

TEST(OnACluster, ARequestThatNeverFitsSaysWhatThereIs) {
  const Launched run =
      RunOnRay({"--num_processes=3", "--ray_resources=CPU=1,unobtainium=2",
                "--ray_strategy=strict_spread"},
               "true");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("3 ranks of CPU=1,unobtainium=2"),
                    HasSubstr("each on a node of its own"), HasSubstr("CPU=")));
}

TEST(OnACluster, ThePlanShowsNodesRanksAndCores) {
  std::vector<std::string> arguments = RayFlags({"--num_processes=2"});
  arguments.insert(arguments.begin(), "plan");
  arguments.push_back("--format=json");
  const Outcome plan = AskLauncher(arguments, ClusterEnvironment());
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json document = json::parse(plan.out);
  EXPECT_EQ(document["backend"], "ray");
  EXPECT_EQ(document["nodes"].size(), 1u);
  EXPECT_EQ(document["bundles"],
            json({{"strategy", "pack"}, {"resources", {{"CPU", 1.0}}}}));
  EXPECT_EQ(document["ranks"].size(), 2u);
  EXPECT_FALSE(document["ranks"][1]["cpus"].empty());
}

}  // namespace
}  // namespace slipway
