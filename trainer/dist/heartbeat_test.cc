#include "trainer/dist/heartbeat.h"

#include <fcntl.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace slipway::dist {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

TEST(Heartbeat, WritesOneByteABeat) {
  const Pipe pipe;
  Heartbeat heartbeat(pipe.ends[1]);
  heartbeat.Beat();
  heartbeat.Beat();
  char bytes[8];
  EXPECT_EQ(read(pipe.ends[0], bytes, sizeof(bytes)), 2);
}

TEST(Heartbeat, DoesNothingWithoutAListener) {
  Heartbeat heartbeat;
  heartbeat.Beat();
  Heartbeat closed(1 << 20);  // nobody's descriptor
  closed.Beat();
}

TEST(Heartbeat, SurvivesAListenerThatLeaves) {
  Pipe pipe;
  Heartbeat heartbeat(pipe.ends[1]);
  close(pipe.ends[0]);
  heartbeat.Beat();
  heartbeat.Beat();
  pipe.ends[0] = dup(pipe.ends[1]);
}

TEST(Heartbeat, DoesNotWaitForAListenerThatSleeps) {
  const Pipe pipe;
  Heartbeat heartbeat(pipe.ends[1]);
  const int size = fcntl(pipe.ends[1], F_GETPIPE_SZ);
  for (int i = 0; i < size + 10; ++i) heartbeat.Beat();
  char byte;
  EXPECT_EQ(read(pipe.ends[0], &byte, 1), 1);
}

TEST(Heartbeat, StaysWithThisProcess) {
  const Pipe pipe;
  const Heartbeat heartbeat(pipe.ends[1]);
  EXPECT_EQ(fcntl(pipe.ends[1], F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace slipway::dist
