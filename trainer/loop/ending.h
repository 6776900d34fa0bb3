// How a run ends: what its result says, and who hears of it.
#ifndef SLIPWAY_TRAINER_LOOP_ENDING_H_
#define SLIPWAY_TRAINER_LOOP_ENDING_H_

#include <string>

#include "absl/status/status.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Remembers what failed, where hooks are not to blame: the first one is kept.
// Returns `status`.
absl::Status Failed(Run& run, std::string kind, const absl::Status& status,
                    std::string hint = "");

// Completes the result of a training that ended with `status` after `seconds`,
// tells the plugins (OnFailure, Close) and, last, the reporters.
void EndRun(Run& run, const absl::Status& status, double seconds);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_ENDING_H_
