// Posts {"epoch": 0, "Accuracy": 0.9} to http://HOST:PORT/metrics after each
// epoch. A server that is away is an error of this plugin: on_error: disable in
// the recipe lets the training go on without it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

// Closes itself.
class Socket {
 public:
  Socket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // No training waits longer than that for a server.
    const timeval limit = {.tv_sec = 5, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status Away(const std::string& host, int64_t port, const char* what) {
  return absl::UnavailableError(
      absl::StrCat("http://", host, ":", port, ": ", what));
}

absl::Status Post(const std::string& host, int64_t port,
                  const std::string& body) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return Away(host, port, "no IPv4 address");
  }
  const Socket connection;
  if (connect(connection.fd(), reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) != 0) {
    return Away(host, port, strerror(errno));
  }
  const std::string request = absl::StrCat(
      "POST /metrics HTTP/1.0\r\nContent-Type: application/json\r\n",
      "Content-Length: ", body.size(), "\r\n\r\n", body);
  if (send(connection.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return Away(host, port, strerror(errno));
  }
  char answer[16] = {};
  if (recv(connection.fd(), answer, 12, MSG_WAITALL) < 12) {
    return Away(host, port, "no answer");
  }
  // "HTTP/1.0 200"
  return answer[9] == '2' ? absl::OkStatus() : Away(host, port, answer);
}

// As JSON has it.
std::string Number(double value) {
  return std::isfinite(value) ? absl::StrCat(value) : "null";
}

class HttpMetrics : public slipway::Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "http_metrics", problems);
    auto plugin = std::make_unique<HttpMetrics>();
    plugin->host_ = params.Text("host", "127.0.0.1");
    plugin->port_ =
        params.Int("port", {.fallback = 8080, .min = 1, .max = 65535});
    plugin->metric_ = params.Text("metric", "Accuracy");
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return plugin;
  }

  absl::Status EpochEnd(slipway::FitContext& context) override {
    if (context.rank() != 0) return absl::OkStatus();
    const double value = context.Metric("valid", metric_);
    return Post(host_, port_,
                absl::StrCat("{\"epoch\": ", context.epoch(), ", \"", metric_,
                             "\": ", Number(value), "}"));
  }

 private:
  std::string host_;
  int64_t port_ = 0;
  std::string metric_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.http_metrics", "1.0.0", HttpMetrics);
