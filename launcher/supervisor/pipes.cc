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

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  Pipe pipe = {Descriptor(fds[0]), Descriptor(fds[1])};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace slipway::launcher
