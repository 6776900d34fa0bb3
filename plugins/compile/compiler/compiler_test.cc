#include "plugins/compile/compiler/compiler.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::compile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Programs of a few lines take the compiler's place; the processes are real.
class CompilerJobTest : public testing::Test {
 protected:
  CompilerJobTest() : folder_(testing::TempDir() + "/job") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }

  CompilerCommand Command(const std::string& program) {
    const std::string path = Path("program.py");
    std::ofstream(path) << "import json, os, signal, subprocess, sys, time\n"
                        << program;
    return {.program = path, .arguments = {folder_}, .log = Path("log")};
  }

  CompilerJob Start(const CompilerCommand& command) {
    auto job = CompilerJob::Start(command);
    EXPECT_TRUE(job.ok()) << job.status();
    return *std::move(job);
  }

  absl::Status Run(const std::string& program) {
    CompilerJob job = Start(Command(program));
    EXPECT_TRUE(job.Wait(absl::Now() + absl::Seconds(60)));
    return job.status();
  }

  // Waits until the program has written it.
  std::string Read(const std::string& name) {
    std::string text;
    for (int i = 0; i < 3000 && text.find('\n') == std::string::npos; ++i) {
      std::ifstream file(Path(name));
      text.assign(std::istreambuf_iterator<char>(file), {});
      absl::SleepFor(absl::Milliseconds(10));
    }
    return text;
  }

  std::string folder_;
};

// A program that starts another one, which would run for an hour.
constexpr char kParent[] = R"py(
child = subprocess.Popen([sys.executable, "-c",
                          "import time; time.sleep(3600)"])
print(child.pid, file=open(sys.argv[1] + "/child", "w"))
)py";
constexpr char kSleep[] = "time.sleep(3600)\n";

// Zombies have ended: whoever adopts them may be slow to collect them.
bool Exists(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

bool GoneSoon(pid_t pid) {
  for (int i = 0; i < 1000 && Exists(pid); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  return !Exists(pid);
}

TEST_F(CompilerJobTest, TellsOfSuccess) {
  EXPECT_TRUE(Run("sys.exit(0)").ok());
}

TEST_F(CompilerJobTest, SaysWhatTheProgramSays) {
  const struct {
    const char* kind;
    absl::StatusCode code;
  } kCases[] = {{"unsupported", absl::StatusCode::kUnimplemented},
                {"environment", absl::StatusCode::kFailedPrecondition},
                {"compile", absl::StatusCode::kInternal}};
  for (const auto& c : kCases) {
    const absl::Status status = Run(absl::StrCat(
        "print(json.dumps({'error': '", c.kind,
        "', 'message': 'no g++', 'hint': 'install it'}), file=sys.stderr)\n"
        "print('said at exit')\nsys.exit(3)"));
    EXPECT_EQ(status.code(), c.code);
    EXPECT_EQ(status.message(),
              "no g++ (install it); its log is " + Path("log"));
  }
}

TEST_F(CompilerJobTest, QuotesTheLogWhereTheProgramGivesNoReason) {
  const absl::Status status = Run("sys.exit('one\\ntwo\\nthree\\nfour')");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "the compiler ended with exit code 1; it said: two | three | four; "
            "its log is " +
                Path("log"));
}

TEST_F(CompilerJobTest, SurvivesGarbage) {
  const absl::Status status = Run(
      "sys.stdout.buffer.write(bytes(range(256)) * 4000 + b'{\"error\": [1}')\n"
      "sys.stdout.flush()\nsys.exit(7)");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("exit code 7"), HasSubstr("\\xff")));
  EXPECT_LT(status.message().size(), 5000U);
}

TEST_F(CompilerJobTest, NamesTheSignalThatEndedIt) {
  CompilerJob job = Start(Command(std::string(kParent) + kSleep));
  const pid_t child = atoi(Read("child").c_str());
  ASSERT_GT(child, 0);
  EXPECT_FALSE(job.Poll());
  kill(job.pid(), SIGKILL);
  ASSERT_TRUE(job.Wait(absl::Now() + absl::Seconds(60)));
  EXPECT_EQ(job.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("ended by SIGKILL, as happens where memory is short"));
  EXPECT_TRUE(GoneSoon(child));
}

TEST_F(CompilerJobTest, EndsWhatIsLeftBehind) {
  CompilerJob job = Start(Command(kParent));
  ASSERT_TRUE(job.Wait(absl::Now() + absl::Seconds(60)));
  EXPECT_TRUE(job.status().ok());
  EXPECT_TRUE(GoneSoon(atoi(Read("child").c_str())));
}

TEST_F(CompilerJobTest, EndsEverythingWhenCancelled) {
  pid_t child = 0;
  pid_t pid = 0;
  {
    CompilerJob job = Start(Command(std::string(kParent) + kSleep));
    child = atoi(Read("child").c_str());
    pid = job.pid();
    CompilerJob moved = std::move(job);
    EXPECT_TRUE(Exists(child));
    moved.Cancel();
    EXPECT_TRUE(moved.Poll());
    EXPECT_EQ(moved.status().code(), absl::StatusCode::kCancelled);
    EXPECT_FALSE(Exists(pid));
  }
  EXPECT_TRUE(GoneSoon(child));
}

TEST_F(CompilerJobTest, EndsEverythingWhenDestroyed) {
  pid_t child = 0;
  {
    const CompilerJob job = Start(Command(std::string(kParent) + kSleep));
    child = atoi(Read("child").c_str());
    EXPECT_TRUE(Exists(child));
  }
  EXPECT_TRUE(GoneSoon(child));
}

TEST_F(CompilerJobTest, EndsAfterItsTimeout) {
  CompilerCommand command = Command(std::string(kParent) + kSleep);
  command.timeout = absl::Seconds(1);
  CompilerJob job = Start(command);
  EXPECT_FALSE(job.Poll());
  ASSERT_TRUE(job.Wait(absl::Now() + absl::Seconds(60)));
  EXPECT_EQ(job.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(job.status().message(),
            "the compiler did not end within 1s; its log is " + Path("log"));
  EXPECT_FALSE(Exists(job.pid()));
}

TEST_F(CompilerJobTest, WaitsNoLongerThanAsked) {
  CompilerJob job = Start(Command(kSleep));
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(job.Wait(begin + absl::Milliseconds(100)));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(100));
}

TEST_F(CompilerJobTest, KeepsItsParentsPriorityGroupInputSignalsAndFilesOut) {
  const int open_file = dup(STDERR_FILENO);  // no O_CLOEXEC
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ASSERT_TRUE(Run("print(os.nice(0), os.getpgrp() == os.getpid(),"
                  "      sys.stdin.read() == '',"
                  "      signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(),"
                  "      sorted(os.listdir('/proc/self/fd')))")
                  .ok());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  close(open_file);
  // 3 is the folder that is being listed.
  EXPECT_EQ(Read("log"),
            absl::StrCat(std::min(19, getpriority(PRIO_PROCESS, 0) + 10),
                         " True True True ['0', '1', '2', '3']\n"));
}

TEST_F(CompilerJobTest, AddsToTheEnvironment) {
  setenv("WHO", "old", 1);
  CompilerCommand command = Command("print(os.environ['WHO'])");
  command.environment = {{"WHO", "new"}};
  CompilerJob job = Start(command);
  ASSERT_TRUE(job.Wait(absl::Now() + absl::Seconds(60)));
  EXPECT_EQ(Read("log"), "new\n");
  unsetenv("WHO");
}

TEST_F(CompilerJobTest, EndsWithTheThreadThatStartedIt) {
  std::optional<CompilerJob> job;
  std::thread([&] {
    job.emplace(
        Start(Command("print(1, file=open(sys.argv[1] + '/child', 'w'))\n" +
                      std::string(kSleep))));
    Read("child");
  }).join();
  EXPECT_TRUE(GoneSoon(job->pid()));
}

// Not even what a compiler that was told of it has started is left.
TEST_F(CompilerJobTest, EndsWithItsParentProcess) {
  CompilerCommand command = Command(absl::StrCat(
      "sys.path.insert(0, '", std::filesystem::current_path().string(),
      "/plugins/compile/compiler/programs')\n"
      "import process_group\nprocess_group.end_together()\n",
      kParent, kSleep));
  const pid_t trainer = fork();
  if (trainer == 0) {
    const CompilerJob job = Start(command);
    pause();
    _exit(0);
  }
  const pid_t child = atoi(Read("child").c_str());
  ASSERT_GT(child, 0);
  kill(trainer, SIGKILL);
  waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(GoneSoon(child));
}

TEST_F(CompilerJobTest, SaysThatThereIsNoPython) {
  const std::string path = getenv("PATH");
  unsetenv("PYTHON");
  setenv("PATH", folder_.c_str(), 1);
  const auto job = CompilerJob::Start(Command(kSleep));
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(job.status().message(),
            "there is no python3 on the PATH; install Python 3.11, or name one "
            "in $PYTHON");
}

TEST_F(CompilerJobTest, SaysThatTheChosenPythonCannotRun) {
  const std::string python = Path("python");
  std::ofstream(python) << "no program";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  setenv("PYTHON", python.c_str(), 1);
  const auto job = CompilerJob::Start(Command(kSleep));
  unsetenv("PYTHON");
  EXPECT_EQ(job.status().message(),
            "cannot start " + python + ": Exec format error");
}

TEST_F(CompilerJobTest, SaysThatTheLogCannotBeWritten) {
  CompilerCommand command = Command(kSleep);
  command.log = Path("missing/log");
  EXPECT_EQ(CompilerJob::Start(command).status().message(),
            Path("missing/log") + ": No such file or directory");
}

}  // namespace
}  // namespace slipway::compile
