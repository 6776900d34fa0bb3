#include "trainer/loop/stop_signals.h"

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

TEST(StopSignals, NoteTheSignalInsteadOfEnding) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::atomic<int> noted = 0;
    StopSignals signals(noted);
    raise(signal);
    EXPECT_EQ(noted, signal);
  }
}

TEST(StopSignals, LetASecondSignalEndTheProcess) {
  EXPECT_EXIT(
      {
        std::atomic<int> noted = 0;
        StopSignals signals(noted);
        raise(SIGTERM);
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, LetASecondSignalOfTheOtherKindEndItToo) {
  EXPECT_EXIT(
      {
        std::atomic<int> noted = 0;
        StopSignals signals(noted);
        raise(SIGTERM);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignals, HandOnWhatCameEarlier) {
  std::atomic<int> early = 0, late = 0;
  StopSignals signals(early);
  raise(SIGINT);
  signals.Retarget(late);
  EXPECT_EQ(late, SIGINT);
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, NoteTheSignalWhereTheyPointLast) {
  std::atomic<int> early = 0, late = 0;
  StopSignals signals(early);
  signals.Retarget(late);
  EXPECT_EQ(late, 0);
  raise(SIGTERM);
  EXPECT_EQ(early, 0);
  EXPECT_EQ(late, SIGTERM);
}

TEST(StopSignals, PutBackWhatWasThere) {
  struct sigaction before = {};
  before.sa_handler = SIG_IGN;
  struct sigaction original;
  sigaction(SIGTERM, &before, &original);
  {
    std::atomic<int> noted = 0;
    StopSignals signals(noted);
  }
  struct sigaction after;
  sigaction(SIGTERM, &original, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace slipway::loop
