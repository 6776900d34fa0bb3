// The port at which the ranks of a launch meet, held by a socket from before
// any of them starts, so that no two launches ever get the same one.
//
//   absl::StatusOr<Rendezvous> meeting = Rendezvous::Open(
//       {.address = "127.0.0.1", .listen = true});
//   environment["MASTER_PORT"] = absl::StrCat(meeting->port());
//   environment["SLIPWAY_STORE_FD"] = absl::StrCat(meeting->fd());  // rank 0
//
// A listening socket is for our own programs, which take it over. For others
// the port is reserved: the socket is bound with SO_REUSEADDR and does not
// listen, which keeps the port from whoever asks for any free one, and lets
// rank 0 bind it, as every rendezvous (torch's TCPStore too) does with
// SO_REUSEADDR itself.
#ifndef SLIPWAY_LAUNCHER_RENDEZVOUS_RENDEZVOUS_H_
#define SLIPWAY_LAUNCHER_RENDEZVOUS_RENDEZVOUS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/supervisor/pipes.h"

namespace slipway::launcher {

struct RendezvousRequest {
  // A name or a number of this machine, version 4 or 6.
  std::string address = "127.0.0.1";
  // Absent: any that is free.
  std::optional<int> port;
  bool listen = false;
};

class Rendezvous {
 public:
  // Errors name address and port: NOT_FOUND for an address that no name service
  // knows, INVALID_ARGUMENT for one that is not this machine's, ALREADY_EXISTS
  // for a port that somebody uses.
  static absl::StatusOr<Rendezvous> Open(const RendezvousRequest& request);

  int port() const { return port_; }
  // Closes on exec unless the reaper keeps it open for a rank.
  int fd() const { return socket_.get(); }

 private:
  Rendezvous() = default;

  int port_ = 0;
  Descriptor socket_;
  // Of a port that was asked for: see rendezvous.cc.
  Descriptor lock_;
};

// $MASTER_PORT: nullopt where it is unset (null), empty or 0.
// INVALID_ARGUMENT quotes what is no port.
absl::StatusOr<std::optional<int>> ParseMasterPort(const char* text);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RENDEZVOUS_RENDEZVOUS_H_
