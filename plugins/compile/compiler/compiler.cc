#include "plugins/compile/compiler/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "plugins/compile/compiler/verdict.h"

namespace slipway::compile {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(20);

bool IsProgram(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> FindPython() {
  const char* const chosen = getenv("PYTHON");
  const std::string name = chosen && *chosen ? chosen : "python3";
  if (absl::StrContains(name, '/')) {
    if (IsProgram(name)) return name;
    return std::nullopt;
  }
  const char* const path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path ? path : "", ':')) {
    const std::string program = absl::StrCat(folder, "/", name);
    if (IsProgram(program)) return program;
  }
  return std::nullopt;
}

// Strings as execve takes them.
class Strings {
 public:
  explicit Strings(std::vector<std::string> strings)
      : strings_(std::move(strings)) {
    for (std::string& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
  }
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;

  char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

std::vector<std::string> Environment(const CompilerCommand& command) {
  std::vector<std::string> environment;
  // The first of two equal names counts.
  for (const auto& [name, value] : command.environment) {
    environment.push_back(absl::StrCat(name, "=", value));
  }
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  return environment;
}

// What the child needs to know.
struct Child {
  pid_t parent;
  int input, log, failed;  // descriptors
  int nice;
  const char* python;
  char* const* arguments;
  char* const* environment;
};

// In the child of a process with threads: async-signal-safe calls only.
[[noreturn]] void Execute(const Child& child) {
  setpgid(0, 0);
  // A signal that the process can catch, to end its group with it.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != child.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (nice(child.nice) == -1) errno = 0;
  dup2(child.input, STDIN_FILENO);
  dup2(child.log, STDOUT_FILENO);
  dup2(child.log, STDERR_FILENO);
  // Sockets of ranks and the like are none of its business.
  syscall(SYS_close_range, 3U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
  execve(child.python, child.arguments, child.environment);
  const int error = errno;
  if (write(child.failed, &error, sizeof(error)) < 0) _exit(127);
  _exit(127);
}

absl::Status NoProcess(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// A descriptor that closes itself.
struct Descriptor {
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  int number = -1;
};

}  // namespace

absl::StatusOr<CompilerJob> CompilerJob::Start(const CompilerCommand& command) {
  const std::optional<std::string> python = FindPython();
  if (!python) {
    return absl::FailedPreconditionError(
        "there is no python3 on the PATH; install Python 3.11, or name one in "
        "$PYTHON");
  }
  const Descriptor input{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const Descriptor log{open(command.log.c_str(),
                            O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC,
                            0644)};
  if (log.number < 0) return NoProcess(command.log, errno);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NoProcess("pipe", errno);
  const Descriptor reader{ends[0]};
  Descriptor writer{ends[1]};

  std::vector<std::string> line = {*python, command.program};
  line.insert(line.end(), command.arguments.begin(), command.arguments.end());
  const Strings arguments(line);
  const Strings environment(Environment(command));
  const Child child = {.parent = getpid(),
                       .input = input.number,
                       .log = log.number,
                       .failed = writer.number,
                       .nice = command.nice,
                       .python = python->c_str(),
                       .arguments = arguments.get(),
                       .environment = environment.get()};
  const pid_t pid = fork();
  if (pid == 0) Execute(child);
  if (pid < 0) return NoProcess("no process for the compiler", errno);
  // In both processes, so that the group is there for either.
  setpgid(pid, pid);
  CompilerJob job(pid, command.log, command.timeout);
  close(writer.number);
  writer.number = -1;
  int error = 0;
  if (read(reader.number, &error, sizeof(error)) == sizeof(error)) {
    return NoProcess(absl::StrCat("cannot start ", *python), error);
  }
  return job;
}

CompilerJob::CompilerJob(pid_t pid, std::string log, absl::Duration timeout)
    : pid_(pid),
      running_(true),
      log_(std::move(log)),
      timeout_(timeout),
      begin_(absl::Now()) {}

CompilerJob::CompilerJob(CompilerJob&& other)
    : pid_(std::exchange(other.pid_, -1)),
      running_(std::exchange(other.running_, false)),
      log_(std::move(other.log_)),
      timeout_(other.timeout_),
      begin_(other.begin_),
      status_(std::move(other.status_)) {}

CompilerJob& CompilerJob::operator=(CompilerJob&& other) {
  Cancel();
  pid_ = std::exchange(other.pid_, -1);
  running_ = std::exchange(other.running_, false);
  log_ = std::move(other.log_);
  timeout_ = other.timeout_;
  begin_ = other.begin_;
  status_ = std::move(other.status_);
  return *this;
}

CompilerJob::~CompilerJob() { Cancel(); }

bool CompilerJob::Poll() {
  if (!running_) return true;
  if (HasEnded()) {
    Finish();
  } else if (absl::Now() - begin_ > timeout_) {
    End(absl::DeadlineExceededError(
        absl::StrCat("the compiler did not end within ",
                     absl::FormatDuration(timeout_), "; its log is ", log_)));
  }
  return !running_;
}

bool CompilerJob::Wait(absl::Time deadline) {
  while (!Poll()) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    absl::SleepFor(std::min(kPause, left));
  }
  return true;
}

void CompilerJob::Cancel() {
  if (running_) End(absl::CancelledError("the compiler was stopped"));
}

bool CompilerJob::HasEnded() const {
  siginfo_t info = {};
  // It stays a zombie: its group keeps its number until that is killed.
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info,
                            WEXITED | WNOHANG | WNOWAIT);
  return result == 0 && info.si_pid == pid_;
}

void CompilerJob::End(absl::Status status) {
  Finish();
  status_ = std::move(status);
}

void CompilerJob::Finish() {
  kill(-pid_, SIGKILL);
  int ended = 0;
  while (waitpid(pid_, &ended, 0) < 0 && errno == EINTR) {
  }
  // Those that were killed are gone within moments; only the kernel knows them.
  for (int i = 0; i < 100 && kill(-pid_, SIGKILL) == 0; ++i) usleep(1000);
  running_ = false;
  status_ = Verdict(ended, log_);
}

}  // namespace slipway::compile
