#include "launcher/supervisor/kill_group.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

// Where this process may make groups, else the test has nothing to see.
TEST(KillGroup, EndsWhoeverIsInIt) {
  const KillGroup group = KillGroup::Make();
  if (!group.exists()) GTEST_SKIP() << "no writable cgroup 2 here";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = group.Fork();
  if (child == 0) {
    setsid();
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  group.Kill();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  group.Remove();
  EXPECT_FALSE(std::filesystem::exists(group.folder()));
}

TEST(KillGroup, JustForksWithoutAGroup) {
  const KillGroup group;
  EXPECT_FALSE(group.exists());
  const pid_t child = group.Fork();
  if (child == 0) _exit(7);
  group.Kill();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  group.Remove();
}

}  // namespace
}  // namespace slipway::launcher
