// Shows digests of a training's whole state to whoever asked for them
// (Trainer::ObserveState).
#ifndef SLIPWAY_TRAINER_LOOP_OBSERVING_H_
#define SLIPWAY_TRAINER_LOOP_OBSERVING_H_

#include "absl/status/status.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Before the first step, after each, and after the last epoch. Where the
// observer wants the state, calls BeforeSave, SaveState and AfterSave with an
// empty path; errors are of hooks. Without an observer they cost nothing.
//
// A resumed training is not observed as it begins: it is whole only when its
// epoch has begun. Neither is one that was stopped as it ends: whoever stopped
// it need not stop it there again.
absl::Status ObserveBegin(Run& run);
absl::Status ObserveStep(Run& run);
absl::Status ObserveEnd(Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_OBSERVING_H_
