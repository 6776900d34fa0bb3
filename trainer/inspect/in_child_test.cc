#include "trainer/inspect/in_child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(60);

TEST(RunInChild, GivesWhatWasSent) {
  const ChildEnd end = RunInChild(
      [](const SendLine& send) {
        send("one");
        std::cout << "not this" << std::endl;
        send(std::string(200000, 'x'));
      },
      kLong);
  EXPECT_EQ(end.how, "");
  EXPECT_THAT(end.lines, ElementsAre("one", std::string(200000, 'x')));
}

TEST(RunInChild, NamesTheSignal) {
  // As one that handles it itself would do.
  signal(SIGSEGV, [](int) { _exit(1); });
  const ChildEnd end = RunInChild(
      [](const SendLine& send) {
        send("one");
        raise(SIGSEGV);
      },
      kLong);
  EXPECT_EQ(end.how, "was ended by SIGSEGV (Segmentation fault)");
  EXPECT_THAT(end.lines, ElementsAre("one"));
}

TEST(RunInChild, SeesAnEndThatLooksWell) {
  const ChildEnd end = RunInChild([](const SendLine&) { _exit(0); }, kLong);
  EXPECT_EQ(end.how, "called exit(0)");
  EXPECT_THAT(end.lines, IsEmpty());
}

TEST(RunInChild, EndsWhatHangsAndWhatThatStarted) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const ChildEnd end = RunInChild(
      [&](const SendLine& send) {
        // A grandchild that keeps the pipe open as long as it lives.
        if (fork() == 0) pause();
        send("hangs");
        pause();
      },
      absl::Milliseconds(300));
  EXPECT_EQ(end.how, "did not come back in 300ms");
  EXPECT_THAT(end.lines, ElementsAre("hangs"));
  close(pipes[1]);
  char byte = 0;
  EXPECT_EQ(read(pipes[0], &byte, 1), 0) << "somebody still writes";
  close(pipes[0]);
}

TEST(RunInChild, DoesNotWaitForWhatOutlivesTheChild) {
  const ChildEnd end = RunInChild(
      [](const SendLine& send) {
        if (fork() == 0) pause();
        send("done");
      },
      kLong);
  EXPECT_EQ(end.how, "");
  EXPECT_THAT(end.lines, ElementsAre("done"));
}

}  // namespace
}  // namespace slipway::inspect
