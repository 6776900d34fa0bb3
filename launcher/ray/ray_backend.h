// Ranks on a Ray cluster: one that is there, or one of our own for this launch.
//
//   RayBackend ray({.flags = flags, .training = &training, .driver = path,
//                   .agent = ExecutablePath()});
//   LaunchRequest request = {..., .backend = &ray};
//
// Ray grants places and starts an agent on each (launcher/agent); where ranks
// run on their machine, and all that is done about what happens to them, is
// decided here and by the same code as on one machine. A restart asks the
// cluster anew, so that it may use other nodes than the attempt before.
#ifndef SLIPWAY_LAUNCHER_RAY_RAY_BACKEND_H_
#define SLIPWAY_LAUNCHER_RAY_RAY_BACKEND_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/backend.h"
#include "launcher/flags.h"
#include "launcher/launch.h"
#include "launcher/launch_plan.h"
#include "launcher/ray/address.h"
#include "launcher/ray/attempt.h"
#include "launcher/ray/own_cluster.h"
#include "launcher/ray/seats.h"
#include "launcher/training.h"

namespace slipway::launcher {

struct RayOptions {
  LaunchFlags flags;
  // Null for other programs; must outlive the backend.
  const Training* training = nullptr;
  std::string driver;               // of FindRayDriver
  std::string agent;                // this program
  std::ostream* console = nullptr;  // for what is worth knowing meanwhile
};

class RayBackend : public Backend {
 public:
  explicit RayBackend(RayOptions options);
  ~RayBackend() override;

  absl::StatusOr<std::unique_ptr<Ranks>> Start(const LaunchRequest& request,
                                               int attempt,
                                               LaunchPlan& plan) override;

  // What Start would do, learned from the cluster; nothing is started but the
  // agents that look at their machines.
  absl::StatusOr<LaunchPlan> Plan();

 private:
  absl::Status EnsureCluster();
  // How many ranks; `gpus` and `advised` are what the machines have.
  absl::StatusOr<int> Seats(int gpus, int advised) const;
  // Connects, and has an agent on every seat.
  absl::StatusOr<std::unique_ptr<RayAttempt>> Prepare();
  absl::StatusOr<LaunchPlan> PlanFor(const std::vector<Host>& hosts) const;

  RayOptions options_;
  RayAddress address_;
  std::unique_ptr<OwnCluster> own_;
  // Where the driver prints to; "": nowhere.
  std::string log_;
};

// The driver's program: $SLIPWAY_RAY_DRIVER (`variable`; null for none), else
// beside `executable` or its folder. NOT_FOUND with the command that builds it.
absl::StatusOr<std::string> FindRayDriver(const std::string& executable,
                                          const char* variable);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_RAY_BACKEND_H_
