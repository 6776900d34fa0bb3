#include "launcher/rendezvous/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace slipway::launcher {
namespace {

constexpr int kBacklog = 4096;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

absl::StatusOr<Addresses> Resolve(const std::string& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(address.c_str(), nullptr, &hints, &list);
  if (failed == 0) return Addresses(list);
  return absl::NotFoundError(
      absl::StrCat("no address for \"", address, "\": ", gai_strerror(failed)));
}

void SetPort(sockaddr_storage& address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = number;
  }
}

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

absl::Status Failure(const RendezvousRequest& request, int error) {
  const std::string where =
      request.port ? absl::StrCat(request.address, ":", *request.port)
                   : request.address;
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(
        absl::StrCat("the rendezvous port ", where,
                     " is in use (MASTER_PORT); unset "
                     "MASTER_PORT to get a free one"));
  }
  if (error == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", request.address,
                     "\" is no address of this machine "
                     "(--master_addr)"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot hold the rendezvous port ", where, ": ", std::strerror(error)));
}

// Two launches that were both given one port would both reserve it. An abstract
// socket, which vanishes with its holder, tells the second. Other programs'
// sockets are seen by bind() itself.
Descriptor LockPort(int port) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string text = absl::StrCat("slipway-rendezvous-", port);
  text.copy(name.sun_path + 1, sizeof(name.sun_path) - 1);
  Descriptor lock(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (bind(lock.get(), reinterpret_cast<sockaddr*>(&name), size) != 0) {
    return Descriptor();
  }
  return lock;
}

// A bound socket, or none with `error` set.
Descriptor Bind(const addrinfo& where, const RendezvousRequest& request,
                int& error) {
  Descriptor held(socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage address = {};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  SetPort(address, request.port.value_or(0));
  if (bind(held.get(), reinterpret_cast<sockaddr*>(&address),
           where.ai_addrlen) == 0 &&
      (!request.listen || listen(held.get(), kBacklog) == 0)) {
    return held;
  }
  error = errno;
  return Descriptor();
}

}  // namespace

absl::StatusOr<Rendezvous> Rendezvous::Open(const RendezvousRequest& request) {
  absl::StatusOr<Addresses> addresses = Resolve(request.address);
  if (!addresses.ok()) return addresses.status();
  Rendezvous rendezvous;
  if (request.port) {
    rendezvous.lock_ = LockPort(*request.port);
    if (!rendezvous.lock_) return Failure(request, EADDRINUSE);
  }
  int error = EADDRNOTAVAIL;
  for (const addrinfo* it = addresses->get(); it != nullptr; it = it->ai_next) {
    rendezvous.socket_ = Bind(*it, request, error);
    if (!rendezvous.socket_) continue;
    rendezvous.port_ = PortOf(rendezvous.fd());
    return rendezvous;
  }
  return Failure(request, error);
}

absl::StatusOr<std::optional<int>> ParseMasterPort(const char* text) {
  if (text == nullptr || *text == '\0') return std::nullopt;
  int port = 0;
  if (!absl::SimpleAtoi(text, &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "MASTER_PORT is \"", text, "\"; expected a port from 1 to 65535"));
  }
  if (port == 0) return std::nullopt;
  return port;
}

}  // namespace slipway::launcher
