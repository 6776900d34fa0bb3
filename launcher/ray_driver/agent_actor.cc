#include "launcher/ray_driver/agent_actor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "launcher/ray_driver/messages.h"

extern char** environ;

namespace slipway {
namespace {

// A flag of this worker's own command line, as Ray gives it.
std::string WorkerFlag(const std::string& name) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string prefix = name + "=";
  for (std::string word; std::getline(file, word, '\0');) {
    if (word.compare(0, prefix.size(), prefix) == 0) {
      return word.substr(prefix.size());
    }
  }
  return "";
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment, replaced where `changes` has the same name.
std::vector<std::string> Changed(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    bool replaced = false;
    for (const std::string& change : changes) {
      replaced |= change.compare(0, name.size() + 1, name + "=") == 0;
    }
    if (!replaced) result.push_back(*entry);
  }
  return result;
}

// Of an agent's standard error, which has little to say: both together stay
// below what Ray can take.
constexpr size_t kMaxLog = 16 << 10;

// Appends what there is to read, `most` bytes of it; false at the end.
bool Fill(int fd, std::string& bytes, size_t most) {
  char buffer[messages::kMaxPiece];
  const ssize_t got = read(fd, buffer, std::min(most, sizeof(buffer)));
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  bytes.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

std::string HowItEnded(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return std::string("killed by ") + strsignal(WTERMSIG(status));
  }
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

SeatFacts AgentActor::Facts() {
  SeatFacts facts;
  facts.address = WorkerFlag("--ray_node_ip_address");
  facts.raylet_socket = WorkerFlag("--ray_raylet_socket_name");
  facts.pid = getpid();
  return facts;
}

std::string AgentActor::Put(std::string path, int mode, bool append,
                            std::string bytes) {
  for (size_t at = path.find('/', 1); at != path.npos;
       at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), 0700);
  }
  std::ofstream file(path, append ? std::ios::binary | std::ios::app
                                  : std::ios::binary | std::ios::trunc);
  file << bytes;
  if (file.flush() && chmod(path.c_str(), static_cast<mode_t>(mode)) == 0) {
    return "";
  }
  return "cannot write " + path + ": " + std::strerror(errno);
}

// By posix_spawn: this process is full of Ray's threads, after which a fork
// could do next to nothing.
std::string AgentActor::Start(std::vector<std::string> argv,
                              std::vector<std::string> environment) {
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
      pipe2(err, O_CLOEXEC) != 0) {
    return std::string("cannot make pipes: ") + std::strerror(errno);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  const std::vector<std::string> variables = Changed(environment);
  const int failed =
      posix_spawn(&pid_, argv[0].c_str(), &actions, &attributes,
                  Pointers(argv).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  for (int fd : {in[0], out[1], err[1]}) close(fd);
  in_ = in[1];
  out_ = out[0];
  err_ = err[0];
  if (failed == 0) return "";
  pid_ = -1;
  return "cannot start " + argv[0] + ": " + std::strerror(failed);
}

std::string AgentActor::Write(std::string bytes) {
  signal(SIGPIPE, SIG_IGN);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(in_, &bytes[at], bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::strerror(errno);
    at += static_cast<size_t>(wrote);
  }
  return "";
}

Piece AgentActor::Read(int milliseconds) {
  Piece piece;
  pollfd fds[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (poll(fds, 2, milliseconds) <= 0) return piece;
  if (fds[1].revents != 0 && !Fill(err_, piece.log, kMaxLog)) {
    close(err_);
    err_ = -1;
  }
  if (fds[0].revents != 0 && !Fill(out_, piece.out, messages::kMaxPiece)) {
    piece.ended = HowItEnded(pid_);
  }
  return piece;
}

}  // namespace slipway

using slipway::AgentActor;
RAY_REMOTE(AgentActor::Create, &AgentActor::Facts, &AgentActor::Put,
           &AgentActor::Start, &AgentActor::Write, &AgentActor::Read);
