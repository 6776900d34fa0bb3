#include "trainer/inspect/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace slipway::inspect {
namespace {

// How a child says that `work` returned; anybody may call exit(0).
constexpr int kReturned = 117;
constexpr int kPollMilliseconds = 20;

void SendAll(int pipe, const std::string& text) {
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = write(pipe, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    sent += count;
  }
}

[[noreturn]] void BeChild(absl::FunctionRef<void(const SendLine&)> work,
                          int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  // A handler, such as a sanitizer's, would hide which signal it was.
  for (const int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    signal(fatal, SIG_DFL);
  }
  work([pipe](const std::string& line) { SendAll(pipe, line + "\n"); });
  fflush(nullptr);
  _exit(kReturned);
}

// Appends what is there to read, without waiting.
void Drain(int pipe, std::string& text) {
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(pipe, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, count);
  }
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = sigabbrev_np(signal);
    return absl::StrCat("was ended by SIG", name == nullptr ? "?" : name, " (",
                        strsignal(signal), ")");
  }
  const int code = WEXITSTATUS(status);
  return code == kReturned ? "" : absl::StrCat("called exit(", code, ")");
}

// Reads until the child ends or its time is over.
std::string Await(pid_t child, int pipe, absl::Duration limit,
                  std::string& text) {
  const absl::Time deadline = absl::Now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (absl::Now() >= deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      Drain(pipe, text);
      return absl::StrCat("did not come back in ", absl::FormatDuration(limit));
    }
    pollfd readable = {pipe, POLLIN, 0};
    poll(&readable, 1, kPollMilliseconds);
    // A child that closes its end makes poll return at once.
    if (readable.revents & POLLHUP) absl::SleepFor(absl::Milliseconds(1));
    Drain(pipe, text);
  }
  Drain(pipe, text);
  return HowItEnded(status);
}

}  // namespace

ChildEnd RunInChild(absl::FunctionRef<void(const SendLine&)> work,
                    absl::Duration limit) {
  ChildEnd end;
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) {
    end.how = absl::StrCat("could not be started: ", strerror(errno));
    return end;
  }
  fcntl(pipes[0], F_SETFL, O_NONBLOCK);
  std::cout << std::flush;
  const pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    BeChild(work, pipes[1]);
  }
  close(pipes[1]);
  if (child < 0) {
    end.how = absl::StrCat("could not be started: ", strerror(errno));
  } else {
    std::string text;
    end.how = Await(child, pipes[0], limit, text);
    // Whatever it started.
    kill(-child, SIGKILL);
    end.lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  }
  close(pipes[0]);
  return end;
}

}  // namespace slipway::inspect
