#include "trainer/verify_resume_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace slipway {
namespace {

// In the child, which has one thread only.
[[noreturn]] void Execute(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment,
    const std::string& output) {
  const int file =
      open(output.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0 || dup2(file, STDOUT_FILENO) < 0 ||
      dup2(file, STDERR_FILENO) < 0) {
    _exit(127);
  }
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment,
    const std::string& output)
    : pid_(fork()) {
  if (pid_ == 0) Execute(program, arguments, environment, output);
  running_ = pid_ > 0;
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  Wait();
}

bool ChildProcess::running() {
  if (running_) Reap(WNOHANG);
  return running_;
}

void ChildProcess::Signal(int signal) {
  if (running()) kill(pid_, signal);
}

int ChildProcess::Wait() {
  if (running_) Reap(0);
  return exit_code_;
}

void ChildProcess::Reap(int options) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid_, &status, options);
  } while (ended < 0 && errno == EINTR);
  if (ended != pid_) return;
  running_ = false;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace slipway
