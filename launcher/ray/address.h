// What can be known of a Ray cluster before anything of Ray's is started: Ray
// itself waits for 40 seconds at an address where nobody listens, and
// connecting through a node without its C++ half ends that node.
#ifndef SLIPWAY_LAUNCHER_RAY_ADDRESS_H_
#define SLIPWAY_LAUNCHER_RAY_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace slipway::launcher {

struct RayAddress {
  std::string ip;
  int port = 0;

  std::string ToString() const;
};

// "HOST:PORT", the host by number or by name. INVALID_ARGUMENT for anything
// else ("auto", "ray://..."), NOT_FOUND for a name that is not known.
absl::StatusOr<RayAddress> ParseRayAddress(const std::string& text);

// UNAVAILABLE, with the reason, unless somebody listens there.
absl::Status CheckListens(const RayAddress& address,
                          absl::Duration patience = absl::Seconds(1));

// Whether the cluster can be joined from this machine: a raylet of its runs
// here, and each that does has Ray's C++ half. FAILED_PRECONDITION says what is
// missing and what to do. `proc` is /proc.
absl::Status CheckLocalRaylet(const RayAddress& address,
                              const std::string& proc = "/proc");

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_ADDRESS_H_
