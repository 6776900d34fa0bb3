// Descriptors that close themselves, and the pipes between launcher and ranks.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_PIPES_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_PIPES_H_

#include <utility>

#include "absl/status/statusor.h"

namespace slipway::launcher {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { Close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

// Makes reads and writes of `fd` return at once.
void MakeNonBlocking(int fd);

struct Pipe {
  Descriptor read;   // non-blocking
  Descriptor write;  // blocking
};

// Both ends close on exec.
absl::StatusOr<Pipe> MakePipe();

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_PIPES_H_
