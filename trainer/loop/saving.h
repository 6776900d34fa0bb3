// Checkpoints of a run: when they are written, and where. What is in them:
// capturing.h.
#ifndef SLIPWAY_TRAINER_LOOP_SAVING_H_
#define SLIPWAY_TRAINER_LOOP_SAVING_H_

#include "absl/status/status.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Writes the latest checkpoint; a run without a folder, or with `save_model:
// false`, writes none. Hooks BeforeSave and AfterSave run around it.
absl::Status SaveLatest(Run& run);

// The same as the best checkpoint.
absl::Status SaveBest(Run& run);

// After an epoch: the latest checkpoint, the best if `is_best`, and that of the
// epoch if the recipe lists it.
absl::Status SaveAfterEpoch(Run& run, bool is_best);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_SAVING_H_
