// Ranks and launchers that die, in every way: what is left, what is reported,
// what the launcher ends with. complaints.md has the reports behind these
// tests.
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/launch_program.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

// Any number of ranks on any machine.
std::vector<std::string> Unbound(int ranks,
                                 std::vector<std::string> flags = {}) {
  flags.push_back("--bind=none");
  flags.push_back(absl::StrCat("--num_processes=", ranks));
  return flags;
}

// The beginning of a script that waits until `path` has content.
std::string WaitFor(const std::string& path) {
  return absl::StrCat("while [ ! -s ", path, " ]; do sleep 0.01; done; ");
}

json RankOf(const Launched& run, size_t rank) {
  return run.report["attempts"].back()["ranks"][rank];
}

// Complaints 15 and O26.
TEST(Faults, EndAllRanksAndNameTheFirst) {
  const std::string ready = FreshFile("ready");
  const Launched run = RunLauncher(
      Unbound(4, {"--grace=5s"}),
      absl::StrCat("if [ $RANK = 2 ]; then ", WaitFor(ready),
                   "echo step 2 >&2; echo cannot go on >&2; exit 3; fi; "
                   "[ $RANK = 3 ] && echo 1 > ",
                   ready, "; exec sleep 100"));
  EXPECT_EQ(run.exit_code, 3);
  const json& failure = run.report["first_failure"];
  EXPECT_EQ(failure["rank"], 2);
  EXPECT_EQ(failure["reason"], "exit");
  EXPECT_EQ(failure["exit_code"], 3);
  EXPECT_EQ(failure["stderr_tail"], json({"step 2", "cannot go on"}));
  EXPECT_EQ(run.report["survivors"], json({0, 1, 3}));
  for (size_t rank : {0, 1, 3}) {
    EXPECT_EQ(RankOf(run, rank)["ended_by"], "launcher");
    EXPECT_EQ(RankOf(run, rank)["signal"], "SIGTERM");
  }
  EXPECT_THAT(run.err, HasSubstr("error: rank 2 failed after"));
  EXPECT_THAT(run.err, HasSubstr("cannot go on"));
}

// What is not asleep on a loaded machine takes milliseconds; a second is what
// is promised.
TEST(Faults, EndTheLaunchWithinASecondOfTheGrace) {
  const std::string ready = FreshFile("ready");
  const Launched run =
      RunLauncher(Unbound(2, {"--grace=1s"}),
                  absl::StrCat("if [ $RANK = 1 ]; then ", WaitFor(ready),
                               "kill -KILL $$; fi; trap '' TERM; echo 1 > ",
                               ready, "; while :; do sleep 0.01; done"));
  EXPECT_EQ(run.exit_code, 128 + SIGKILL);
  EXPECT_EQ(RankOf(run, 0)["signal"], "SIGKILL");
  const double end = run.report["attempts"][0]["seconds"];
  const double failure = run.report["first_failure"]["seconds"];
  EXPECT_GE(end - failure, 1);
  EXPECT_LE(end - failure, 2);
}

TEST(Faults, EndAllRanksWhenRankZeroDiesFirst) {
  const Launched run =
      RunLauncher(Unbound(3), "[ $RANK = 0 ] && kill -KILL $$; exec sleep 100");
  EXPECT_EQ(run.exit_code, 128 + SIGKILL);
  EXPECT_EQ(run.report["first_failure"]["rank"], 0);
}

// Complaints 20 and O27.
TEST(Faults, AreTheExitCode) {
  struct Case {
    const char* end;
    int exit_code;
    const char* message;
  };
  const Case cases[] = {
      {"exit 0", 0, ""},
      {"exit 1", 1, "exit code 1"},
      {"exit 7", 7, "exit code 7"},
      {"kill -SEGV $$", 128 + SIGSEGV, "SIGSEGV"},
      {"kill -ABRT $$", 128 + SIGABRT, "SIGABRT"},
      {"kill -KILL $$", 128 + SIGKILL, "SIGKILL"},
      {"exec /nonexistent", 127, "exit code 127"},
  };
  for (const Case& c : cases) {
    const Launched run =
        RunLauncher(Unbound(2), absl::StrCat("[ $RANK = 0 ] || ", c.end));
    EXPECT_EQ(run.exit_code, c.exit_code) << c.end;
    EXPECT_EQ(run.report["exit_code"], c.exit_code);
    EXPECT_THAT(run.err, HasSubstr(c.message));
  }
}

TEST(Faults, StartNothingAfterABadCommandLine) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{},
        {"--num_proceses=2", "--", "/bin/true"},
        {"--", "no_such_program"},
        {"--num_processes=99999", "--", "/bin/true"},
        {"--master_addr=192.0.2.1", "--", "/bin/true"}}) {
    const Outcome run = AskLauncher(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr("error: "));
  }
}

// Complaint 16, and O26's second half.
TEST(Faults, LeaveNothingWhenTheLauncherIsKilled) {
  const std::string rank = FreshFile("rank");
  const std::string deep = FreshFile("deep");
  Launch launch(Unbound(2),
                absl::StrCat("[ $RANK = 1 ] && exec sleep 100; setsid sh -c '",
                             "trap \"\" TERM HUP INT; echo $$ > ", deep,
                             "; while :; do sleep 1; done' & echo $$ > ", rank,
                             "; exec sleep 100"));
  const pid_t rank_pid = NumberIn(rank);
  const pid_t deep_pid = NumberIn(deep);
  ASSERT_GT(rank_pid, 0);
  ASSERT_GT(deep_pid, 0);
  launch.Signal(SIGKILL);
  EXPECT_TRUE(Dies(rank_pid));
  EXPECT_TRUE(Dies(deep_pid));
}

// A rank that forks as fast as it can is gone as well.
TEST(Faults, LeaveNothingOfAProcessThatForksAllTheTime) {
  const std::string last = FreshFile("last");
  const Launched run = RunLauncher(
      {}, absl::StrCat("step() { echo $1 > ", last, "; [ $1 -gt 100000 ] || ",
                       "(step $(($1 + 1)) &); }; step 1; ", WaitFor(last)));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string reached = ReadText(last);
  EXPECT_EQ(ReadText(last), reached);
}

TEST(Faults, LeaveNoRankThatIsStopped) {
  const std::string pid = FreshFile("pid");
  const Launched run = RunLauncher(
      Unbound(2, {"--grace=200ms"}),
      absl::StrCat("if [ $RANK = 1 ]; then echo $$ > ", pid,
                   "; kill -STOP $$; fi; ", WaitFor(pid), "exit 4"));
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(RankOf(run, 1)["signal"], "SIGKILL");
  EXPECT_FALSE(IsAlive(NumberIn(pid)));
}

// Complaint 19.
TEST(Faults, GiveRanksTheirGrace) {
  const std::string ready = FreshFile("ready");
  const std::string saved = FreshFile("saved");
  Launch launch({"--grace=30s"},
                absl::StrCat("trap 'sleep 0.5; echo 1 > ", saved,
                             "; exit 143' TERM; echo 1 > ", ready,
                             "; while :; do sleep 0.01; done"));
  ASSERT_EQ(NumberIn(ready), 1);
  launch.Signal(SIGTERM);
  EXPECT_EQ(launch.Wait().exit_code, 143);
  EXPECT_EQ(NumberIn(saved), 1);
}

TEST(Faults, PassOnEverySignal) {
  for (const char* name : {"HUP", "USR1", "USR2", "QUIT", "ALRM", "WINCH"}) {
    const std::string ready = FreshFile("ready");
    Launch launch({}, absl::StrCat("trap 'exit 9' ", name, "; echo $PPID > ",
                                   ready, "; while :; do sleep 0.01; done"));
    ASSERT_GT(NumberIn(ready), 0);
    launch.Signal(name == std::string("HUP")    ? SIGHUP
                  : name == std::string("USR1") ? SIGUSR1
                  : name == std::string("USR2") ? SIGUSR2
                  : name == std::string("QUIT") ? SIGQUIT
                  : name == std::string("ALRM") ? SIGALRM
                                                : SIGWINCH);
    EXPECT_EQ(launch.Wait().exit_code, 9) << name;
  }
}

// Complaint 22: nobody minds who comes last.
TEST(Faults, AreNotRanksThatEndLate) {
  for (const char* late : {"0", "1"}) {
    const Launched run = RunLauncher(
        Unbound(2),
        absl::StrCat("[ $RANK = ", late, " ] && sleep 0.5; exit 0"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

TEST(Faults, OfHungRanksAreShownWithWhereTheyHang) {
  const Launched run = RunLauncher(
      Unbound(2, {"--heartbeat_timeout=300ms"}),
      "[ $RANK = 0 ] && exec sleep 100; "
      "echo beat > /proc/self/fd/$SLIPWAY_HEARTBEAT_FD; exec sleep 100");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_EQ(run.report["first_failure"]["reason"], "heartbeat");
  EXPECT_EQ(run.report["first_failure"]["rank"], 1);
  EXPECT_THAT(run.err, HasSubstr("sleep  S  waits in"));
}

TEST(Faults, CanBeTriedAgain) {
  const Launched run = RunLauncher(
      Unbound(2, {"--max_restarts=1"}),
      "echo attempt $SLIPWAY_RESTART; [ $SLIPWAY_RESTART = 1 ] || exit 5");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.report["attempts"].size(), 2u);
  EXPECT_THAT(run.err, HasSubstr("restart 1 of 1"));
}

// A console that has gone away is no reason to lose a training.
TEST(Faults, AreNotAConsoleThatIsGone) {
  const std::string done = FreshFile("done");
  const Outcome run =
      Process("/bin/sh",
              {"-c", absl::StrCat(LauncherPath(), " --log_dir=logs -- /bin/sh ",
                                  "-c 'yes | head -100000; echo 1 > ", done,
                                  "' | head -1")},
              EmptyFolder())
          .Wait();
  EXPECT_EQ(run.out, "[0] y\n");
  EXPECT_EQ(NumberIn(done), 1);
}

// Complaint 21.
TEST(Output, HasNoTornLine) {
  const Launched run =
      RunLauncher(Unbound(2),
                  "i=0; while [ $i -lt 10000 ]; do "
                  "echo rank $RANK line $i of many; i=$((i+1)); done");
  ASSERT_EQ(run.exit_code, 0);
  std::vector<int> next = {0, 0};
  size_t start = 0;
  for (size_t end; (end = run.out.find('\n', start)) != run.out.npos;
       start = end + 1) {
    const std::string line = run.out.substr(start, end - start);
    const size_t rank = line[1] - '0';
    ASSERT_LT(rank, 2u) << line;
    ASSERT_EQ(line, absl::StrCat("[", rank, "] rank ", rank, " line ",
                                 next[rank]++, " of many"));
  }
  EXPECT_THAT(next, testing::Each(10000));
}

// Whether lines come close enough to each other depends on the machine's load:
// some of many do.
TEST(Output, SaysOnceWhatAllRanksSay) {
  const Launched run =
      RunLauncher(Unbound(3),
                  "i=0; while [ $i -lt 100 ]; do echo warning $i; "
                  "sleep 0.01; i=$((i+1)); done");
  EXPECT_THAT(run.out, HasSubstr("[0-2] warning "));
}

TEST(Output, ShowsTheRanksAskedFor) {
  const char* script = "echo I am $RANK";
  EXPECT_EQ(RunLauncher(Unbound(3, {"--log_ranks=1"}), script).out,
            "[1] I am 1\n");
  EXPECT_EQ(RunLauncher(Unbound(2, {"--notee"}), script).out, "");
  EXPECT_EQ(RunLauncher(Unbound(1, {"--prefix=<{rank}> "}), script).out,
            "<0> I am 0\n");
}

TEST(Output, LiesInTheLogFolder) {
  const std::string logs = FreshFile("logs");
  const Outcome run = AskLauncher(
      {"--log_dir=" + logs, "--", "/bin/sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(FilesIn(logs), testing::ElementsAre("launch_report.json",
                                                  "rank0.err", "rank0.out"));
  EXPECT_EQ(ReadText(logs + "/rank0.out"), "out\n");
  EXPECT_EQ(ReadText(logs + "/rank0.err"), "err\n");
}

TEST(Output, LiesInTheUsersCacheByDefault) {
  const std::string cache = EmptyFolder();
  const Outcome run =
      AskLauncher({"--", "/bin/true"}, {{"XDG_CACHE_HOME", cache}});
  EXPECT_EQ(run.exit_code, 0);
  const std::vector<std::string> launches =
      FilesIn(cache + "/slipway/launches");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_THAT(FilesIn(cache + "/slipway/launches/" + launches[0]),
              Contains("launch_report.json"));
}

TEST(Input, GoesToRankZero) {
  const Outcome run =
      Process("/bin/sh",
              {"-c", absl::StrCat("echo hello | ", LauncherPath(),
                                  " --bind=none --num_processes=2 "
                                  "--log_dir=logs -- /bin/sh -c "
                                  "'read line; echo $RANK got $line'")},
              EmptyFolder())
          .Wait();
  EXPECT_THAT(run.out, HasSubstr("[0] 0 got hello\n"));
  EXPECT_THAT(run.out, HasSubstr("[1] 1 got\n"));
}

}  // namespace
}  // namespace slipway
