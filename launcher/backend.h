// Where the ranks of a launch run.
//
//   LaunchRequest request = {...};
//   request.backend = &ray;          // none: this machine
//   Launch(request, problems);
//
// A backend starts the ranks of one attempt after another; what is done about
// whatever happens to them is the same for all.
#ifndef SLIPWAY_LAUNCHER_BACKEND_H_
#define SLIPWAY_LAUNCHER_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/launch_plan.h"
#include "launcher/supervisor/ranks.h"

namespace slipway::launcher {

struct LaunchRequest;

// The program's command line in an attempt, counted from 0.
std::vector<std::string> CommandLine(const LaunchRequest& request, int attempt);

class Backend {
 public:
  virtual ~Backend() = default;

  // Starts all ranks. `plan` is the launch's; a backend that learns only now
  // where its ranks run replaces it. An error if nothing could be started. The
  // request outlives what is returned.
  virtual absl::StatusOr<std::unique_ptr<Ranks>> Start(
      const LaunchRequest& request, int attempt, LaunchPlan& plan) = 0;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_BACKEND_H_
