// Checkpoints of a run: when they are written, and where. What is in them:
// capturing.h.
//
// A save copies the state and returns; the files are written beside the
// training (background_writer.h), one save at a time. When a file is whole, the
// event `checkpoint` tells it, with the epoch and the step of what is in it,
// and hook AfterSave runs, on the training's thread: at the next TellSaved.
//
// Several ranks save together, all at the same place: the hooks run on each,
// rank 0 writes, and the others hear that its files are whole at the next
// FinishSaves, before the save that follows at the latest.
#ifndef SLIPWAY_TRAINER_LOOP_SAVING_H_
#define SLIPWAY_TRAINER_LOOP_SAVING_H_

#include "absl/status/status.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Writes the latest checkpoint; a run without a folder, or with `save_model:
// false`, writes none. Waits for the save before, if that is still in flight.
absl::Status SaveLatest(Run& run);

// The same as the best checkpoint.
absl::Status SaveBest(Run& run);

// After an epoch: the best checkpoint if `is_best`, that of the epoch if the
// recipe lists it, the model that `average_best_models` keeps, and last the
// latest: whoever is killed before that makes the others once more.
absl::Status SaveAfterEpoch(Run& run, bool is_best);

// Tells which files became whole since the last call. The error of a save that
// failed meanwhile. Costs next to nothing where there is nothing to tell.
absl::Status TellSaved(Run& run);

// The same after waiting for all that is in flight: before a file is read, and
// at the end. Ranks wait for each other.
absl::Status FinishSaves(Run& run);

// At the end of a training that failed: waits, and tells what is whole, but
// calls no hook.
void FinishSavesOfFailed(Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_SAVING_H_
