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
