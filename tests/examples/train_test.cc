// The two ways of the multi-instance guide, started in both ways that this
// machine has.
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/programs.h"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Outcome Spawned(const std::string& program,
                const std::map<std::string, std::string>& environment = {}) {
  return Process(RunfilePath("tests/examples/" + program), {}, EmptyFolder(),
                 environment)
      .Wait();
}

Outcome Launched(const std::string& program,
                 std::vector<std::string> flags = {}) {
  const std::vector<std::string> rest = {
      "--num_processes=2", "--log_dir=logs", "--",
      RunfilePath("tests/examples/" + program)};
  flags.insert(flags.end(), rest.begin(), rest.end());
  return Process(RunfilePath("launcher/launcher_alone"), flags, EmptyFolder())
      .Wait();
}

// What each rank has said of `pattern`'s only group, in the order of ranks.
std::vector<std::string> SaidOf(const std::string& pattern,
                                const Outcome& run) {
  std::vector<std::string> said;
  for (const char* rank : {"0", "1"}) {
    const std::regex line("\\[(?:" + std::string(rank) + "|0-1)\\] " + pattern);
    std::smatch match;
    said.push_back(std::regex_search(run.out, match, line) ? match[1].str()
                                                           : "nothing");
  }
  return said;
}

std::vector<std::string> Weights(const Outcome& run) {
  return SaidOf("rank \\d of 2: .*weights (\\S+)", run);
}

class Train : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) {
      GTEST_SKIP() << "two ranks need two cores";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Train,
                         testing::Values("train_class", "train_function"),
                         [](const auto& info) { return info.param; });

TEST_P(Train, EndsWithTheSameWeightsHoweverItIsStarted) {
  const Outcome spawned = Spawned(GetParam());
  const Outcome launched = Launched(GetParam());
  for (const Outcome* run : {&spawned, &launched}) {
    ASSERT_EQ(run->exit_code, 0) << run->err;
    // 1437 samples; one is shown twice to make the halves equal.
    EXPECT_THAT(SaidOf("Train Epoch: 1, (\\d+) samples", *run),
                ElementsAre("719", "719"));
    const std::vector<std::string> weights = Weights(*run);
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_NE(weights[0], "nothing");
  }
  EXPECT_THAT(launched.err, HasSubstr("Epoch 0  [>"));
}

TEST_P(Train, RaisesItsRatesUnlessToldNotTo) {
  const Outcome raised = Launched(GetParam());
  const Outcome flat = Launched(GetParam(), {"--auto_lr=false"});
  ASSERT_EQ(flat.exit_code, 0) << flat.err;
  EXPECT_NE(Weights(raised)[0], Weights(flat)[0]);
  EXPECT_EQ(Weights(flat)[0], Weights(flat)[1]);
}

TEST_P(Train, RunsOnTheCpusItIsGiven) {
  const Outcome run =
      Launched(GetParam(), {"--cpu_for_each_process=[[1],[0]]"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(Weights(run)[1], "nothing");
}

// As torchrun starts it: with the variables of a rank and nothing else.
TEST_P(Train, TrainsUnderOtherLaunchers) {
  const std::vector<Outcome> ranks = RunProgramRanks(
      2, RunfilePath("tests/examples/" + GetParam()), {}, EmptyFolder());
  std::vector<std::string> weights;
  for (const Outcome& rank : ranks) {
    ASSERT_EQ(rank.exit_code, 0) << rank.err;
    weights.push_back(rank.out.substr(rank.out.find("weights ")));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST_P(Train, TrainsAloneWhereItIsTheOnlyRank) {
  const Outcome run = Spawned(GetParam(), {{"RANK", "0"},
                                           {"WORLD_SIZE", "1"},
                                           {"LOCAL_RANK", "0"},
                                           {"LOCAL_WORLD_SIZE", "1"},
                                           {"MASTER_ADDR", "127.0.0.1"},
                                           {"MASTER_PORT", "1"}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Train Epoch: 1, 1437 samples"));
}

TEST(TrainClass, KnowsHowMuchItsRatesAreRaised) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two cores";
  // After 46 steps of the thousand.
  EXPECT_THAT(
      SaidOf("rank \\d of 2: rates times (\\S+),", Launched("train_class")),
      ElementsAre("1.046", "1.046"));
  EXPECT_THAT(Spawned("train_class").out, Not(HasSubstr("rates times 1.000,")));
}

}  // namespace
}  // namespace slipway
