#include "trainer/dist/heartbeat.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace slipway::dist {

Heartbeat::Heartbeat(std::optional<int> fd) : fd_(fd.value_or(-1)) {
  if (fd_ < 0) return;
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0 || fcntl(fd_, F_SETFL, flags | O_NONBLOCK) < 0 ||
      fcntl(fd_, F_SETFD, FD_CLOEXEC) < 0) {
    fd_ = -1;
  }
}

// A pipe without a reader would end the process by SIGPIPE: asked first, it
// says so.
void Heartbeat::Beat() {
  if (fd_ < 0) return;
  pollfd state = {.fd = fd_, .events = POLLOUT, .revents = 0};
  if (poll(&state, 1, 0) <= 0) return;
  constexpr char kByte = '.';
  const bool gone = (state.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  if (gone || write(fd_, &kByte, 1) == 0) fd_ = -1;
}

}  // namespace slipway::dist
