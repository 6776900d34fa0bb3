#include "launcher/supervisor/reaper.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/supervisor/reaper_process.h"

namespace slipway::launcher {

absl::StatusOr<Reaper> Reaper::Start(const std::vector<RankProgram>& ranks,
                                     BindMode mode) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot make a socket pair: ", std::strerror(errno)));
  }
  KillGroup group = KillGroup::Make();
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    group.Remove();
    close(sockets[0]);
    close(sockets[1]);
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot fork: ", std::strerror(error)));
  }
  if (pid == 0) {
    close(sockets[0]);
    RunReaper(sockets[1], ranks, mode, group);
  }
  close(sockets[1]);
  return Reaper(pid, sockets[0], std::move(group));
}

Reaper::Reaper(Reaper&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      group_(std::move(other.group_)) {}

Reaper::~Reaper() { Finish(); }

std::optional<ReaperEvent> Reaper::Receive() {
  ReaperEvent event;
  ssize_t got = 0;
  do {
    got = recv(socket_, &event, sizeof(event), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(event))) return std::nullopt;
  return event;
}

void Reaper::Signal(int rank, int signal) {
  const ReaperCommand command = {.rank = rank, .signal = signal};
  // A reaper that is gone has killed the ranks already.
  send(socket_, &command, sizeof(command), MSG_NOSIGNAL);
}

void Reaper::Finish() {
  if (pid_ < 0) return;
  close(std::exchange(socket_, -1));
  const pid_t pid = std::exchange(pid_, -1);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  // The reaper has done so already, unless somebody ended it.
  group_.Kill();
  group_.Remove();
}

}  // namespace slipway::launcher
