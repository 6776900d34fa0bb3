#include "trainer/verify_resume_rounds.h"

#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using testing::ElementsAre;

std::vector<std::string> Faults(const RunShape& shape) {
  std::vector<std::string> faults;
  for (const Interruption& round : NamedInterruptions(shape)) {
    faults.push_back(round.fault);
  }
  return faults;
}

TEST(NamedInterruptions, LieWithinTheRun) {
  // Six steps of two batches an epoch: step 3 of it is the middle, whose first
  // batch is the fifth.
  EXPECT_THAT(Faults({.epochs = 2, .steps = 12, .accumulate = 2}),
              ElementsAre("micro_batch:5:SIGTERM", "step:9:SIGTERM", "step:9",
                          "evaluation_batch:1:SIGTERM", "evaluation_batch:2",
                          "epoch_end:1:SIGTERM", "save_after:1"));
}

TEST(NamedInterruptions, LeaveOutAWindowOfOneBatch) {
  EXPECT_THAT(
      Faults({.epochs = 1, .steps = 1, .accumulate = 1}),
      ElementsAre("step:1:SIGTERM", "step:1", "evaluation_batch:1:SIGTERM",
                  "evaluation_batch:2", "epoch_end:1:SIGTERM", "save_after:1"));
}

TEST(RandomInterruptions, AreThoseOfTheirSeed) {
  const std::vector<Interruption> rounds = RandomInterruptions(50, 7);
  const std::vector<Interruption> again = RandomInterruptions(50, 7);
  const std::vector<Interruption> others = RandomInterruptions(50, 8);
  ASSERT_EQ(rounds.size(), 50u);
  std::set<int> signals;
  std::set<double> moments;
  for (size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(rounds[i].moment, again[i].moment);
    EXPECT_EQ(rounds[i].signal, again[i].signal);
    EXPECT_NE(rounds[i].moment, others[i].moment);
    EXPECT_GE(rounds[i].moment, 0);
    EXPECT_LT(rounds[i].moment, 1);
    EXPECT_EQ(rounds[i].fault, "");
    signals.insert(rounds[i].signal);
    moments.insert(rounds[i].moment);
  }
  EXPECT_THAT(signals, ElementsAre(SIGKILL, SIGTERM));
  EXPECT_EQ(moments.size(), 50u);
}

TEST(RoundTable, HasALinePerRound) {
  Interruption random;
  random.where = "after 40 % of its time";
  const std::string text = FormatTable(
      {{NamedInterruptions({.epochs = 2, .steps = 4})[0], "step 3", "equal",
        true},
       {random, "the start", "2 of 9 parts differ: net/weight, rng/0", false}});
  EXPECT_EQ(text,
            "round  interrupted                    by       resumed from  "
            "result\n"
            "1      in the middle of an epoch      SIGTERM  step 3        "
            "equal\n"
            "2      after 40 % of its time         SIGKILL  the start     "
            "2 of 9 parts differ: net/weight, rng/0\n");
}

}  // namespace
}  // namespace slipway
