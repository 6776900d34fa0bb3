#include "launcher/ray/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "launcher/supervisor/pipes.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> Resolve(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failed != 0) {
    return absl::NotFoundError(
        absl::StrCat("no address for \"", host, "\": ", gai_strerror(failed)));
  }
  char text[INET_ADDRSTRLEN] = "";
  const auto* in = reinterpret_cast<const sockaddr_in*>(list->ai_addr);
  inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
  freeaddrinfo(list);
  return std::string(text);
}

sockaddr_in SocketAddress(const RayAddress& address) {
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, address.ip.c_str(), &where.sin_addr);
  return where;
}

// 0, or the errno of the connection.
int Connect(const RayAddress& address, absl::Duration patience) {
  const Descriptor fd(
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in where = SocketAddress(address);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where),
              sizeof(where)) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) return errno;
  pollfd ready = {fd.get(), POLLOUT, 0};
  const int milliseconds =
      static_cast<int>(absl::ToInt64Milliseconds(patience));
  if (poll(&ready, 1, milliseconds) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

struct Raylet {
  std::string gcs_address;
  bool has_cpp = false;
};

// The value of `flag`, which may stand inside another flag's value.
std::string ValueOf(const std::string& words, const std::string& flag) {
  const std::string prefix = flag + "=";
  const size_t at = words.find(prefix);
  if (at == words.npos) return "";
  const size_t start = at + prefix.size();
  return words.substr(start, words.find_first_of(" \n", start) - start);
}

// The network that a process is in; "" if that is not known.
std::string NetworkOf(const fs::path& process) {
  std::error_code error;
  return fs::read_symlink(process / "ns/net", error).string();
}

// The raylets among this machine's processes; those in other network namespaces
// are on other machines as far as Ray knows.
std::vector<Raylet> LocalRaylets(const std::string& proc) {
  std::vector<Raylet> raylets;
  const std::string own = NetworkOf(proc + "/self");
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc, error)) {
    if (!std::isdigit(
            static_cast<unsigned char>(entry.path().filename().string()[0]))) {
      continue;
    }
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string words, word, cpp;
    for (bool first = true; std::getline(file, word, '\0'); first = false) {
      if (first && fs::path(word).filename() != "raylet") break;
      if (absl::StartsWith(word, "--cpp_worker_command=")) cpp = word;
      words += word + "\n";
    }
    const std::string network = NetworkOf(entry.path());
    if (words.empty() || (!network.empty() && network != own)) continue;
    raylets.push_back({.gcs_address = ValueOf(words, "--gcs-address"),
                       .has_cpp = absl::StrContains(cpp, "default_worker")});
  }
  return raylets;
}

}  // namespace

std::string RayAddress::ToString() const { return absl::StrCat(ip, ":", port); }

absl::StatusOr<RayAddress> ParseRayAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  RayAddress address;
  const std::string host = text.substr(0, colon);
  if (colon == text.npos || host.empty() || absl::StrContains(host, "/") ||
      absl::StrContains(host, ":") ||
      !absl::SimpleAtoi(text.substr(colon + 1), &address.port) ||
      address.port < 1 || address.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--ray_address cannot be \"", text,
        "\"; expected HOST:PORT, as `ray start --head` prints it"));
  }
  absl::StatusOr<std::string> ip = Resolve(host);
  if (!ip.ok()) return ip.status();
  address.ip = *std::move(ip);
  return address;
}

absl::Status CheckListens(const RayAddress& address, absl::Duration patience) {
  const int error = Connect(address, patience);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("no Ray cluster answers at ",
                                             address.ToString(), ": ",
                                             std::strerror(error)));
}

absl::Status CheckLocalRaylet(const RayAddress& address,
                              const std::string& proc) {
  bool found = false;
  std::string others;
  for (const Raylet& raylet : LocalRaylets(proc)) {
    if (raylet.gcs_address != address.ToString()) {
      absl::StrAppend(&others, others.empty() ? "" : ", ", raylet.gcs_address);
      continue;
    }
    found = true;
    if (raylet.has_cpp) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the Ray node on this machine has no C++ workers, and would crash if a "
        "C++ program joined its cluster; install ray-cpp beside its ray (the "
        "same version) and start it again"));
  }
  if (found) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this machine is no node of the Ray cluster at ", address.ToString(),
      others.empty() ? ""
                     : absl::StrCat(" (it is one of the cluster at ", others,
                                    "; give that address)"),
      "; make it one (ray start --address=", address.ToString(),
      "), or launch from a node"));
}

}  // namespace slipway::launcher
