// A launch's own cluster: started as its child, and gone with it.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"
#include "tests/launcher/launch_program.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

std::map<std::string, std::string> Environment() {
  return {
      {"SLIPWAY_RAY_DRIVER", RunfilePath("launcher/ray_driver/ray_driver")}};
}

std::vector<std::string> Flags(const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = {"--backend=ray", "--bind=none",
                                    "--grace=1s"};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

std::set<std::string> Folders() {
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator("/tmp")) {
    const std::string path = entry.path().string();
    if (path.rfind("/tmp/slipway-ray-", 0) == 0) folders.insert(path);
  }
  return folders;
}

// The folder of the cluster under which a rank runs: it is the one that was not
// there before.
std::string NewFolder(const std::set<std::string>& before) {
  for (const std::string& folder : Folders()) {
    if (before.count(folder) == 0) return folder;
  }
  return "";
}

// Processes of a cluster name its folder.
std::vector<pid_t> ProcessesOf(const std::string& folder,
                               const std::string& program = "") {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string line = ReadText(entry.path() / "cmdline");
    if (line.find(folder) == line.npos || line.find(program) == line.npos) {
      continue;
    }
    found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

TEST(OwnCluster, VanishesWithItsLaunch) {
  const std::set<std::string> before = Folders();
  const std::string ready = FreshFile("ready");
  Launch launch(Flags({"--num_processes=2"}),
                absl::StrCat("[ $RANK = 0 ] && echo 1 > ", ready, "; sleep 2"),
                Environment());
  ASSERT_EQ(NumberIn(ready), 1);
  const std::string folder = NewFolder(before);
  ASSERT_NE(folder, "");
  EXPECT_FALSE(ProcessesOf(folder, "raylet").empty());
  const Launched run = launch.Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ProcessesOf(folder), IsEmpty());
  EXPECT_FALSE(fs::exists(folder));
}

TEST(OwnCluster, VanishesWithALauncherThatIsKilled) {
  const std::set<std::string> before = Folders();
  const std::string ready = FreshFile("ready");
  Launch launch(Flags(),
                absl::StrCat("sleep 600 & echo $! > ", ready, "; wait"),
                Environment());
  const pid_t rank = NumberIn(ready);
  ASSERT_GT(rank, 0);
  const std::string folder = NewFolder(before);
  const std::vector<pid_t> processes = ProcessesOf(folder);
  EXPECT_FALSE(processes.empty());
  // A reaper has its launcher's command line.
  const std::string launcher_program = ready;
  launch.Signal(SIGKILL);
  launch.Wait();
  for (const pid_t pid : processes) EXPECT_TRUE(Dies(pid)) << pid;
  EXPECT_TRUE(Dies(rank));
  // The next launch sweeps, once the reapers have ended too.
  for (int i = 0; i < 500 && !ProcessesOf(launcher_program).empty(); ++i) {
    usleep(10000);
  }
  EXPECT_EQ(RunLauncher(Flags(), "true", Environment()).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder));
}

TEST(OwnCluster, IsStartedAnewWhenItsHeadIsLost) {
  const std::set<std::string> before = Folders();
  const std::string ready = FreshFile("ready");
  Launch launch(Flags({"--max_restarts=1"}),
                absl::StrCat("[ $SLIPWAY_RESTART = 1 ] && exit 0; echo 1 > ",
                             ready, "; sleep 600"),
                Environment());
  ASSERT_EQ(NumberIn(ready), 1);
  for (const pid_t pid : ProcessesOf(NewFolder(before), "gcs_server")) {
    kill(pid, SIGKILL);
  }
  const Launched run = launch.Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(run.report["attempts"].size(), 2u);
}

}  // namespace
}  // namespace slipway
