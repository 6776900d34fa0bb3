// How the ranks of a training find each other, before it starts, and make sure
// that all of them will train the same or none will.
//
//   dist::ProcessGroup group(environment);
//   if (!Join(group, device, recipe, problems)) return Refuse(problems);
//   std::optional<RunPlace> place =
//       FindRunPlaceTogether(group, recipe, folder, absl::Now(), problems);
//   ...                              // what each rank prepares by itself
//   if (!AllReady(group, problems)) return Refuse(problems);
//
// Each is called by all ranks at the same place, and does next to nothing in a
// process that is alone. A rank that is lost meanwhile is a problem of the kind
// "peer".
#ifndef SLIPWAY_TRAINER_JOIN_H_
#define SLIPWAY_TRAINER_JOIN_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "c10/core/Device.h"
#include "trainer/dist/process_group.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/resume.h"
#include "trainer/run_folder.h"

namespace slipway {

// Connects `group`, for tensors on `device`, too, and compares the ranks'
// recipes. False if and only if `problems` gained an error: ranks that did not
// come, or what is another recipe's.
bool Join(dist::ProcessGroup& group, at::Device device,
          const recipe::Node& recipe, Problems& problems);

// FindRunPlace on rank 0, and what it has found on all. Nullopt if and only if
// `problems` gained an error; warnings are rank 0's.
std::optional<RunPlace> FindRunPlaceTogether(dist::ProcessGroup& group,
                                             const recipe::Node& recipe,
                                             const RunFolderRequest& folder,
                                             absl::Time now,
                                             Problems& problems);

// Appends an error if the launcher has shown another plan than this
// (SLIPWAY_PLAN_HASH). Sends nothing.
void CheckLaunchedPlan(const dist::ProcessGroup& group, const plan::Plan& plan,
                       Problems& problems);

// Whether no rank's `problems` has an error. A rank that has none itself hears
// of the others': an error is appended.
bool AllReady(dist::ProcessGroup& group, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_JOIN_H_
