// The driver's end of its pipes to the launcher: messages come in through a
// thread of their own, so that the end of the launcher is noticed whatever Ray
// is doing.
#ifndef SLIPWAY_LAUNCHER_RAY_DRIVER_PIPE_H_
#define SLIPWAY_LAUNCHER_RAY_DRIVER_PIPE_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "launcher/ray_driver/messages.h"

namespace slipway {

class LauncherPipe {
 public:
  // Takes descriptors 0 and 1 for the messages; what Ray prints goes to 2.
  LauncherPipe();

  // From any thread. Without a launcher there is nobody to tell.
  void Send(messages::Type type, int seat, const std::string& body);

  // The next message, waiting for it that long at most; false without one.
  bool Next(messages::Message& message, int milliseconds);
  // The launcher is gone, or wants nothing more.
  bool closed();

 private:
  void Receive();

  int out_ = -1;
  std::mutex sending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<messages::Message> received_;
  bool closed_ = false;
};

}  // namespace slipway

#endif  // SLIPWAY_LAUNCHER_RAY_DRIVER_PIPE_H_
