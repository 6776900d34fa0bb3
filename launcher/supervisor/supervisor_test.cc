#include "launcher/supervisor/supervisor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/topology/topology.h"

namespace slipway::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A rank that runs a shell script.
RankProgram Script(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script},
          .environment = {"PATH=/usr/bin:/bin"}};
}

// The beginning of a script that waits until `path` has content.
std::string WaitFor(const std::string& path) {
  return absl::StrCat("while [ ! -s ", path, " ]; do sleep 0.01; done; ");
}

bool IsAlive(pid_t pid) {
  std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(stat, text);
  const size_t end = text.rfind(')');
  return end != text.npos && text[end + 2] != 'Z';
}

// True as soon as `pid` is gone, false after five seconds.
bool Dies(pid_t pid) {
  for (int i = 0; i < 500 && IsAlive(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !IsAlive(pid);
}

class SuperviseTest : public testing::Test {
 protected:
  AttemptReport Run(std::vector<RankProgram> programs) {
    options_.out = &out_;
    options_.err = &err_;
    absl::StatusOr<AttemptReport> report =
        Supervise(std::move(programs), options_, problems_);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }

  // A fresh file to which a script may write.
  std::string Scratch(const std::string& name) const {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    const std::string path =
        absl::StrCat(testing::TempDir(), "/", info->name(), ".", name);
    std::filesystem::remove(path);
    return path;
  }

  static std::string Content(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }

  // The process id that a script wrote to `path`; waits for it.
  static pid_t PidIn(const std::string& path) {
    int pid = 0;
    for (int i = 0; i < 500; ++i) {
      if (absl::SimpleAtoi(Content(path), &pid)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return pid;
  }

  SupervisorOptions options_ = {.bind = BindMode::kNone,
                                .grace = absl::Milliseconds(300)};
  std::ostringstream out_;
  std::ostringstream err_;
  Problems problems_;
};

TEST_F(SuperviseTest, RunsEveryRankToItsEnd) {
  const AttemptReport report =
      Run({Script("echo zero"), Script("echo one; echo oops >&2")});
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_FALSE(report.first_failure);
  EXPECT_THAT(out_.str(), HasSubstr("[0] zero\n"));
  EXPECT_THAT(out_.str(), HasSubstr("[1] one\n"));
  EXPECT_EQ(err_.str(), "[1] oops\n");
}

TEST_F(SuperviseTest, TakesTheExitCodeOfTheFirstRankThatFails) {
  const std::string ready = Scratch("ready");
  const AttemptReport report = Run(
      {Script(absl::StrCat("trap 'exit 3' TERM; echo 1 > ", ready,
                           "; while :; do sleep 0.01; done")),
       Script(absl::StrCat(WaitFor(ready),
                           "echo first >&2; echo last words >&2; exit 7"))});
  EXPECT_EQ(report.exit_code(), 7);
  ASSERT_TRUE(report.first_failure);
  EXPECT_EQ(report.first_failure->rank, 1);
  EXPECT_EQ(report.first_failure->reason, Failure::Reason::kExit);
  EXPECT_THAT(report.first_failure->stderr_tail,
              ElementsAre("first", "last words"));
  EXPECT_TRUE(report.ranks[0].ended_by_launcher);
  EXPECT_EQ(report.ranks[0].exit_code, 3);
}

TEST_F(SuperviseTest, NamesTheSignalOfARankThatDied) {
  for (int signal : {SIGKILL, SIGSEGV, SIGABRT}) {
    const AttemptReport report = Run(
        {Script("sleep 100"), Script(absl::StrCat("kill -", signal, " $$"))});
    EXPECT_EQ(report.exit_code(), 128 + signal);
    EXPECT_EQ(report.first_failure->message, SignalName(signal));
    EXPECT_EQ(report.ranks[0].signal, SIGTERM);
  }
}

TEST_F(SuperviseTest, KillsWhoIgnoresTheGracePeriod) {
  const std::string ready = Scratch("ready");
  const AttemptReport report =
      Run({Script(absl::StrCat("trap '' TERM; echo 1 > ", ready,
                               "; while :; do sleep 0.01; done")),
           Script(absl::StrCat(WaitFor(ready), "exit 1"))});
  EXPECT_EQ(report.ranks[0].signal, SIGKILL);
  EXPECT_GE(report.seconds, 0.3);
}

TEST_F(SuperviseTest, LeavesNoGrandchildThatCalledSetsid) {
  const std::string path = Scratch("pid");
  const AttemptReport report = Run({Script(absl::StrCat(
      "setsid sh -c 'echo $$ > ", path, "; exec sleep 100' & while [ ! -s ",
      path, " ]; do sleep 0.01; done"))});
  EXPECT_EQ(report.exit_code(), 0);
  const pid_t grandchild = PidIn(path);
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(IsAlive(grandchild));
}

TEST_F(SuperviseTest, SaysWhichProgramCannotStart) {
  const AttemptReport report =
      Run({{.argv = {"/nowhere/program"}, .environment = {}}});
  EXPECT_EQ(report.exit_code(), 127);
  EXPECT_EQ(report.first_failure->reason, Failure::Reason::kStart);
  EXPECT_EQ(report.first_failure->message,
            "cannot start /nowhere/program: No such file or directory");
}

TEST_F(SuperviseTest, BindsEachRankAsPlanned) {
  options_.bind = BindMode::kStrict;
  const CpuSet allowed = ReadTopology({})->allowed_cpus;
  std::vector<RankProgram> programs;
  for (int cpu : allowed) {
    programs.push_back(Script("grep Cpus_allowed_list /proc/self/status"));
    programs.back().binding = Binding({cpu}, {});
  }
  const AttemptReport report = Run(programs);
  EXPECT_EQ(report.exit_code(), 0);
  size_t rank = 0;
  for (int cpu : allowed) {
    EXPECT_EQ(report.ranks[rank].cpus_bound, CpuSet({cpu}));
    EXPECT_THAT(out_.str(),
                HasSubstr(absl::StrCat("[", rank, "] Cpus_allowed_list:\t", cpu,
                                       "\n")));
    ++rank;
  }
}

TEST_F(SuperviseTest, RefusesToStartWhatCannotBeBound) {
  options_.bind = BindMode::kStrict;
  RankProgram program = Script("echo never");
  program.binding = Binding({Binding::kMaxCpus - 1}, {});
  const AttemptReport report = Run({program});
  EXPECT_EQ(report.exit_code(), 127);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(report.first_failure->message, HasSubstr("--bind=best_effort"));
}

TEST_F(SuperviseTest, PassesSignalsOn) {
  const std::string ready = Scratch("ready");
  const pid_t launcher = getpid();
  const pid_t sender = fork();
  if (sender == 0) {
    PidIn(ready);
    kill(launcher, SIGTERM);
    _exit(0);
  }
  const AttemptReport report =
      Run({Script(absl::StrCat("trap 'echo saved; exit 143' TERM; echo 1 > ",
                               ready, "; while :; do sleep 0.01; done"))});
  waitpid(sender, nullptr, 0);
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.exit_code(), 143);
  EXPECT_EQ(out_.str(), "[0] saved\n");
}

TEST_F(SuperviseTest, EndsARankWithoutHeartbeat) {
  options_.heartbeat_timeout = absl::Milliseconds(300);
  const AttemptReport report = Run(
      {Script("sleep 0.6"),
       Script("echo beat > /proc/self/fd/$SLIPWAY_HEARTBEAT_FD; sleep 100")});
  ASSERT_TRUE(report.first_failure);
  EXPECT_EQ(report.first_failure->rank, 1);
  EXPECT_EQ(report.first_failure->reason, Failure::Reason::kHeartbeat);
  EXPECT_THAT(report.first_failure->stack, HasSubstr("waits in"));
  EXPECT_NE(report.exit_code(), 0);
}

TEST_F(SuperviseTest, GivesStdinToNoRankButTheFirst) {
  const AttemptReport report =
      Run({Script("exit 0"), Script("read line || echo none")});
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("[1] none\n"));
}

// The launcher's own death, however it comes, takes everything along.
TEST_F(SuperviseTest, LeavesNothingWhenTheLauncherIsKilled) {
  const std::string path = Scratch("pid");
  const std::string deep = Scratch("deep");
  const pid_t launcher = fork();
  if (launcher == 0) {
    Problems problems;
    std::ostringstream sink;
    SupervisorOptions options = {
        .bind = BindMode::kNone, .out = &sink, .err = &sink};
    Supervise({Script(absl::StrCat("setsid sh -c 'echo $$ > ", deep,
                                   "; exec sleep 100' & echo $$ > ", path,
                                   "; exec sleep 100"))},
              options, problems)
        .status()
        .IgnoreError();
    _exit(0);
  }
  const pid_t rank = PidIn(path);
  const pid_t grandchild = PidIn(deep);
  ASSERT_GT(rank, 0);
  ASSERT_GT(grandchild, 0);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(Dies(rank));
  EXPECT_TRUE(Dies(grandchild));
}

// PR_SET_PDEATHSIG is about the thread that forked, which is the reaper's only
// one, not whoever started the reaper.
TEST(Reaper, OutlivesTheThreadThatStartedIt) {
  std::optional<Reaper> reaper;
  std::thread([&] {
    reaper.emplace(*Reaper::Start({Script("exec sleep 100")}, BindMode::kNone));
  }).join();
  const std::optional<ReaperEvent> started = reaper->Receive();
  ASSERT_TRUE(started);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(IsAlive(started->pid));
  reaper->Finish();
  EXPECT_FALSE(IsAlive(started->pid));
}

TEST(LaunchReport, HasTheContractsFields) {
  LaunchReport report = {.command = {"trainer"}, .world_size = 2};
  report.attempts.push_back(
      {.ranks = {{.rank = 0, .pid = 5, .exit_code = 0},
                 {.rank = 1, .pid = 6, .cpus_bound = {1}, .signal = SIGKILL}},
       .first_failure = Failure{.rank = 1,
                                .reason = Failure::Reason::kSignal,
                                .signal = SIGKILL,
                                .message = "SIGKILL"}});
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["exit_code"], 137);
  EXPECT_EQ(json["first_failure"]["signal"], "SIGKILL");
  EXPECT_EQ(json["first_failure"]["reason"], "signal");
  EXPECT_EQ(json["attempts"][0]["ranks"][1]["cpus_bound"], nlohmann::json({1}));
  EXPECT_EQ(json["survivors"], nlohmann::json({0}));
}

}  // namespace
}  // namespace slipway::launcher
