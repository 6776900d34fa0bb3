#include "launcher/supervisor/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

TEST(ForwardedSignals, ReadsEverySignalThatCanBeCaught) {
  ForwardedSignals signals;
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM,
                     SIGTSTP, SIGCONT, SIGALRM, SIGWINCH, SIGXCPU, SIGRTMIN}) {
    kill(getpid(), signal);
    EXPECT_EQ(signals.Next(), signal);
  }
  EXPECT_FALSE(signals.Next());
}

TEST(ForwardedSignals, LeavesEverythingAsItWas) {
  sigset_t before, after;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  { ForwardedSignals signals; }
  sigprocmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
}

TEST(ForwardedSignals, SurvivesAConsoleThatIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    ForwardedSignals signals;
    int fds[2];
    if (pipe(fds) != 0) _exit(2);
    close(fds[0]);
    _exit(write(fds[1], "x", 1) == -1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ForwardedSignals, WakesASleeperToStop) {
  ForwardedSignals signals;
  EXPECT_TRUE(signals.Sleep(absl::ZeroDuration()));
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(signals.Sleep(absl::Milliseconds(1)));
  kill(getpid(), SIGTERM);
  EXPECT_FALSE(signals.Sleep(absl::Hours(1)));
}

}  // namespace
}  // namespace slipway::launcher
