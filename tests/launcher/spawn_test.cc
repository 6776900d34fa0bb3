#include <signal.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome RunProgram(const std::string& task,
                   const std::map<std::string, std::string>& environment = {}) {
  return Process(RunfilePath("tests/launcher/spawn_program"), {task},
                 EmptyFolder(), environment)
      .Wait();
}

// As many ranks as the program starts need as many cores.
class SpawnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) {
      GTEST_SKIP() << "two ranks need two cores";
    }
  }
};

TEST_F(SpawnTest, RunsTheFunctionInEachRank) {
  const Outcome run = RunProgram("hello");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0] rank 0 of 2 on CPU"));
  EXPECT_THAT(run.out, HasSubstr("[1] rank 1 of 2 on CPU"));
  EXPECT_THAT(run.out, HasSubstr("says hello\n"));
  EXPECT_THAT(run.out, testing::EndsWith("\nbehind the call\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("] behind the call")));
}

TEST_F(SpawnTest, TakesTheOptionsOfTheLauncher) {
  const Outcome run = RunProgram("lists");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0] rank 0 of 2 on CPU 1"));
  EXPECT_THAT(run.out, HasSubstr("[1] rank 1 of 2 on CPU 0"));
  EXPECT_THAT(run.out, HasSubstr("auto_lr 0\n"));
}

TEST_F(SpawnTest, TellsTheErrorOfARank) {
  const Outcome run = RunProgram("error");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("[1] error: rank 1: no data left\n"));
  EXPECT_THAT(run.err, HasSubstr("error: rank 1 failed after"));
}

TEST_F(SpawnTest, TurnsExceptionsIntoErrors) {
  const Outcome run = RunProgram("throw");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("thrown"));
}

TEST_F(SpawnTest, HasTheCodeOfARankThatCrashed) {
  const Outcome run = RunProgram("crash");
  EXPECT_EQ(run.exit_code, 128 + SIGKILL);
  EXPECT_THAT(run.err, HasSubstr("rank 0 failed after"));
}

TEST_F(SpawnTest, StartsAllRanksAgain) {
  const Outcome run = RunProgram("restart");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("restart 1 of 1"));
}

TEST_F(SpawnTest, TellsCallsApart) {
  const Outcome run = RunProgram("twice");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0] first 0\n"));
  EXPECT_THAT(run.out, HasSubstr("[1] first 1\n"));
  EXPECT_THAT(run.out, HasSubstr("says twice\n"));
}

TEST_F(SpawnTest, RunsHereInARankOfAnotherLauncher) {
  const Outcome run = RunProgram(
      "hello", {{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("rank 3 of 4"));
  EXPECT_THAT(run.out, Not(HasSubstr("behind the call")));
}

TEST_F(SpawnTest, RefusesWhatTheMachineCannotServe) {
  const Outcome run = RunProgram("many");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("100000 processes need 100000"));
}

}  // namespace
}  // namespace slipway
