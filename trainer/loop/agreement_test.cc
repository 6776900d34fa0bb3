#include "trainer/loop/agreement.h"

#include <signal.h>

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

// What the ranks know after these words.
Agreement Merged(const std::vector<Word>& words) {
  Notes sums = {};
  for (const Word& word : words) {
    const Notes notes = ToNotes(word);
    for (int i = 0; i < kNotes; ++i) sums[i] += notes[i];
  }
  return FromNotes(sums, static_cast<int>(words.size()));
}

TEST(Agreement, IsQuietIfNobodySaysAnything) {
  const Agreement all = Merged({{}, {}, {}});
  EXPECT_EQ(all.signal, 0);
  EXPECT_FALSE(all.stop || all.save || all.evaluate || all.skip);
  EXPECT_FALSE(all.not_finite || all.waits || all.stalled);
  EXPECT_TRUE(all.same_step);
  EXPECT_EQ(all.loss, 0);
}

TEST(Agreement, HearsASingleRank) {
  EXPECT_TRUE(Merged({{}, {.stop = true}}).stop);
  EXPECT_TRUE(Merged({{}, {.save = true}}).save);
  EXPECT_TRUE(Merged({{.evaluate = true}, {}}).evaluate);
  EXPECT_TRUE(Merged({{}, {.skip = true}}).skip);
  EXPECT_TRUE(Merged({{}, {.waits = true}}).waits);
  EXPECT_TRUE(Merged({{}, {.stalled = true}}).stalled);
}

TEST(Agreement, KnowsSignals) {
  EXPECT_EQ(Merged({{}, {.signal = SIGINT}, {}}).signal, SIGINT);
  EXPECT_EQ(Merged({{.signal = SIGTERM}, {.signal = SIGTERM}}).signal, SIGTERM);
  EXPECT_EQ(Merged({{.signal = SIGTERM}, {.signal = SIGINT}}).signal, SIGTERM);
  EXPECT_EQ(Merged({{.signal = SIGUSR1}, {}}).signal, SIGTERM);
}

TEST(Agreement, TakesTheMeanLoss) {
  EXPECT_EQ(Merged({{.loss = 1}, {.loss = 2}}).loss, 1.5);
}

TEST(Agreement, OneLossThatIsNotFiniteIsEverybodys) {
  const Agreement all =
      Merged({{.loss = 1}, {.not_finite = true, .loss = HUGE_VAL}});
  EXPECT_TRUE(all.not_finite);
  EXPECT_TRUE(std::isnan(all.loss));
}

TEST(Agreement, SeesThatStepsDiffer) {
  EXPECT_TRUE(Merged({{.step = 7}, {.step = 7}, {.step = 7}}).same_step);
  EXPECT_FALSE(Merged({{.step = 7}, {.step = 8}, {.step = 7}}).same_step);
  EXPECT_FALSE(Merged({{.step = 6}, {.step = 8}, {.step = 7}}).same_step);
  EXPECT_TRUE(Merged(std::vector<Word>(1000, {.step = 31})).same_step);
}

}  // namespace
}  // namespace slipway::loop
