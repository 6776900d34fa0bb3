#include "launcher/supervisor/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "absl/time/clock.h"

namespace slipway::launcher {
namespace {

// A fault is the launcher's own, a child is the reaper, and a terminal that
// stops background processes means this one.
constexpr int kOwn[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGABRT,
                        SIGSYS,  SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU};

}  // namespace

ForwardedSignals::ForwardedSignals() {
  sigfillset(&set_);
  for (int signal : kOwn) sigdelset(&set_, signal);
  sigprocmask(SIG_BLOCK, &set_, &before_);
  fd_ = Descriptor(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

ForwardedSignals::~ForwardedSignals() {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> ForwardedSignals::Next() {
  signalfd_siginfo info;
  if (read(fd_.get(), &info, sizeof(info)) != sizeof(info)) {
    return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

bool ForwardedSignals::Sleep(absl::Duration time) {
  const absl::Time end = absl::Now() + time;
  while (true) {
    while (const std::optional<int> signal = Next()) {
      if (*signal == SIGINT || *signal == SIGTERM) return false;
    }
    const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
    if (left <= 0) return true;
    pollfd fd = {fd_.get(), POLLIN, 0};
    poll(&fd, 1, static_cast<int>(std::min<int64_t>(left + 1, 1 << 30)));
  }
}

}  // namespace slipway::launcher
