#include "launcher/supervisor/pipes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace slipway::launcher {

void Descriptor::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void MakeNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  Pipe pipe = {Descriptor(fds[0]), Descriptor(fds[1])};
  MakeNonBlocking(fds[0]);
  return pipe;
}

}  // namespace slipway::launcher
