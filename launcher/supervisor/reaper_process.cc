#include "launcher/supervisor/reaper_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace slipway::launcher {
namespace {

// Pointers for execve, made before fork: a child may not allocate.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

void Tell(int socket, const ReaperEvent& event) {
  send(socket, &event, sizeof(event), MSG_NOSIGNAL);
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);  // fails for KILL and STOP: fine
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void Redirect(const RankProgram& program) {
  const int sources[] = {program.stdin_fd, program.stdout_fd,
                         program.stderr_fd};
  for (int target = 0; target < 3; ++target) {
    if (sources[target] >= 0) dup2(sources[target], target);
  }
  for (int fd : program.inherited_fds) {
    fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) & ~FD_CLOEXEC);
  }
}

bool HoldsStrictly(const Binding& wanted, const BindingResult& bound) {
  return wanted.cpus().empty() || bound.cpus() == wanted.cpus();
}

// In the child: from fork to exec.
[[noreturn]] void BecomeRank(int rank, const RankProgram& program,
                             BindMode mode, int socket, pid_t reaper) {
  setpgid(0, 0);
  // The reaper's only thread never ends before the reaper does.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != reaper) _exit(127);
  ResetSignals();
  Redirect(program);
  ReaperEvent event = {.rank = rank, .pid = getpid()};
  if (mode != BindMode::kNone) event.binding = Bind(program.binding);
  if (mode == BindMode::kStrict &&
      !HoldsStrictly(program.binding, event.binding)) {
    event.kind = ReaperEvent::Kind::kStartFailed;
    Tell(socket, event);
    _exit(127);
  }
  Tell(socket, event);
  std::vector<char*> argv = Pointers(program.argv);
  std::vector<char*> environment = Pointers(program.environment);
  execve(argv[0], argv.data(), environment.data());
  event.kind = ReaperEvent::Kind::kStartFailed;
  event.error = errno;
  Tell(socket, event);
  _exit(127);
}

pid_t ParentOf(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512] = {};
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  // "pid (name) state ppid ...": the name may hold anything, even ")".
  const char* end = size > 0 ? std::strrchr(text, ')') : nullptr;
  int parent = -1;
  if (end == nullptr || std::sscanf(end + 1, " %*c %d", &parent) != 1) {
    return -1;
  }
  return parent;
}

class ReaperProcess {
 public:
  ReaperProcess(int socket, const std::vector<RankProgram>& ranks,
                BindMode mode, const KillGroup& group)
      : socket_(socket),
        ranks_(ranks),
        mode_(mode),
        group_(group),
        pids_(ranks.size(), 0) {}

  [[noreturn]] void Run() {
    Detach();
    StartRanks();
    Serve();
    KillEverything();
    _exit(0);
  }

 private:
  void Detach() {
    setsid();
    prctl(PR_SET_NAME, "slipway-reaper");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Only the launcher's end of the socket decides when this process ends.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    child_fd_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  void StartRanks() {
    const pid_t self = getpid();
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const pid_t pid = group_.Fork();
      if (pid == 0) {
        BecomeRank(static_cast<int>(i), ranks_[i], mode_, socket_, self);
      }
      pids_[i] = pid;
      if (pid > 0) {
        setpgid(pid, pid);  // as the child does: whoever is first
        continue;
      }
      Tell(socket_, {.kind = ReaperEvent::Kind::kStartFailed,
                     .rank = static_cast<int>(i),
                     .error = errno});
    }
    // The ranks' ends of their pipes must close when the ranks end.
    for (const RankProgram& rank : ranks_) {
      for (int fd : {rank.stdin_fd, rank.stdout_fd, rank.stderr_fd}) {
        if (fd > 2) close(fd);
      }
      for (int fd : rank.inherited_fds) close(fd);
      for (int fd : rank.callers_fds) close(fd);
    }
  }

  void Serve() {
    while (true) {
      pollfd fds[] = {{socket_, POLLIN, 0}, {child_fd_, POLLIN, 0}};
      if (poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) Reap();
      if (fds[0].revents != 0 && !Obey()) return;
    }
  }

  // One command; false when the launcher is gone.
  bool Obey() {
    ReaperCommand command;
    const ssize_t got = recv(socket_, &command, sizeof(command), 0);
    if (got < 0 && errno == EINTR) return true;
    if (got != static_cast<ssize_t>(sizeof(command))) return false;
    for (size_t i = 0; i < pids_.size(); ++i) {
      const bool meant =
          command.rank < 0 || command.rank == static_cast<int>(i);
      if (meant && pids_[i] > 0) kill(-pids_[i], command.signal);
    }
    return true;
  }

  void Reap() {
    signalfd_siginfo info;
    while (read(child_fd_, &info, sizeof(info)) > 0) {
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto it = std::find(pids_.begin(), pids_.end(), pid);
      if (it == pids_.end()) continue;  // an orphan that came to us
      Tell(socket_, {.kind = ReaperEvent::Kind::kExited,
                     .rank = static_cast<int>(it - pids_.begin()),
                     .pid = pid,
                     .wait_status = status});
      // Its group may live on in children of its own: they are killed last.
      *it = 0;
    }
  }

  // Kills children until there are none: the death of one may bring its own
  // children here, so that each wait is followed by another look.
  void KillEverything() {
    while (waitpid(-1, nullptr, WNOHANG) >= 0) {
      group_.Kill();
      KillChildren();
      waitpid(-1, nullptr, 0);
    }
    group_.Remove();
  }

  void KillChildren() {
    DIR* proc = opendir("/proc");
    if (proc == nullptr) return;
    const pid_t self = getpid();
    while (const dirent* entry = readdir(proc)) {
      const pid_t pid = static_cast<pid_t>(std::atoi(entry->d_name));
      if (pid > 0 && ParentOf(pid) == self) kill(pid, SIGKILL);
    }
    closedir(proc);
  }

  const int socket_;
  const std::vector<RankProgram>& ranks_;
  const BindMode mode_;
  const KillGroup& group_;
  std::vector<pid_t> pids_;
  int child_fd_ = -1;
};

}  // namespace

void RunReaper(int socket, const std::vector<RankProgram>& ranks, BindMode mode,
               const KillGroup& group) {
  ReaperProcess(socket, ranks, mode, group).Run();
}

}  // namespace slipway::launcher
