#include "launcher/ray_driver/pipe.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace slipway {
namespace {

// How long Ray may take to let go of everything once the launcher is gone.
constexpr std::chrono::seconds kLastMoments{10};

}  // namespace

LauncherPipe::LauncherPipe() : out_(dup(STDOUT_FILENO)) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  signal(SIGPIPE, SIG_IGN);
  std::thread([this] { Receive(); }).detach();
}

void LauncherPipe::Send(messages::Type type, int seat,
                        const std::string& body) {
  const std::string bytes = messages::Encode({type, seat, body});
  const std::lock_guard<std::mutex> lock(sending_);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(out_, &bytes[at], bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    at += static_cast<size_t>(wrote);
  }
}

void LauncherPipe::Receive() {
  messages::Decoder decoder;
  char bytes[messages::kMaxPiece];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || decoder.broken()) break;
    decoder.Add(bytes, static_cast<size_t>(got));
    const std::lock_guard<std::mutex> lock(mutex_);
    messages::Message message;
    while (decoder.Next(message)) received_.push_back(message);
    changed_.notify_all();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // A call of Ray's may never return once the head is gone.
  std::this_thread::sleep_for(kLastMoments);
  _exit(1);
}

bool LauncherPipe::Next(messages::Message& message, int milliseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                    [this] { return closed_ || !received_.empty(); });
  if (received_.empty()) return false;
  message = received_.front();
  received_.pop_front();
  return true;
}

bool LauncherPipe::closed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

}  // namespace slipway
