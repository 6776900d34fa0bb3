// What can go wrong between the launcher and a cluster, played by the stand-in.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/ray/cluster.h"

namespace slipway {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Refusal {
  const char* fault;
  const char* message;
};

TEST(Cluster, IsRefusedWithTheReasonBeforeAnythingStarts) {
  const Refusal cases[] = {
      {"old", "another version of Slipway"},
      {"other_ray",
       "runs Ray 2.50.0, and the Ray driver was built with 2.60.0"},
      {"full", "no room"},
  };
  for (const Refusal& one : cases) {
    const Launched run = RunOnRay({}, "true", {{"STAND_IN", one.fault}});
    EXPECT_EQ(run.exit_code, 2) << one.fault;
    EXPECT_THAT(run.err, HasSubstr(one.message)) << one.fault;
  }
}

TEST(Cluster, IsRefusedByItsAddressAtOnce) {
  const auto run = [](const std::string& address) {
    return RunLauncher({"--backend=ray", "--ray_address=" + address}, "true",
                       ClusterEnvironment());
  };
  EXPECT_THAT(run("auto").err, HasSubstr("expected HOST:PORT"));
  EXPECT_THAT(run("127.0.0.1:1").err, HasSubstr("no Ray cluster answers"));
}

TEST(Driver, ThatIsMissingIsNamedWithItsCommand) {
  const Launched run = RunLauncher({"--backend=ray"}, "true",
                                   {{"SLIPWAY_RAY_DRIVER", "/no/such/file"}});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("./bazelw build //launcher/ray_driver"));
}

struct Loss {
  const char* fault;
  const char* message;
};

class Lost : public testing::TestWithParam<Loss> {};

TEST_P(Lost, IsOneReportWithinTheGrace) {
  const Launched run =
      RunOnRay({"--num_processes=2"}, "[ $RANK = 1 ] && echo FAULT; sleep 600",
               {{"STAND_IN", GetParam().fault}});
  EXPECT_EQ(run.exit_code, 1);
  const json& failure = run.report["first_failure"];
  EXPECT_EQ(failure["reason"], "node_lost");
  EXPECT_THAT(failure["message"].get<std::string>(),
              HasSubstr(GetParam().message));
  EXPECT_LT(run.report["attempts"][0]["seconds"], 8);
}

TEST_P(Lost, IsTriedAgainWhereThatWasAsked) {
  const Launched run = RunOnRay(
      {"--num_processes=2", "--max_restarts=1"},
      "[ $SLIPWAY_RESTART = 1 ] && exit 0; [ $RANK = 1 ] && echo FAULT; "
      "sleep 600",
      {{"STAND_IN", GetParam().fault}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.report["attempts"].size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Things, Lost,
    testing::Values(Loss{"seat_lost", "std::bad_cast"},
                    Loss{"head_lost", "head of the Ray cluster"},
                    Loss{"dies", "Check failed: something of Ray's"}),
    [](const auto& info) { return info.param.fault; });

// Two addresses of one machine: two raylets, or two network namespaces.
TEST(Seats, OfOneMachineShareItsCoresAndFollowTheAddresses) {
  const Launched run =
      RunOnRay({"--num_processes=2"},
               "echo $RANK $GROUP_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR",
               {{"STAND_IN_NODES", "127.0.0.2 CPU=1;127.0.0.1 CPU=1"}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0] 0 0 1 127.0.0.1\n"));
  EXPECT_THAT(run.out, HasSubstr("[1] 1 1 1 127.0.0.1\n"));
}

}  // namespace
}  // namespace slipway
