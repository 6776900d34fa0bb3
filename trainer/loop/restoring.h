// Puts a training into the state of a checkpoint: the inverse of capturing.h.
//
//   absl::StatusOr<Checkpoint> checkpoint = ReadCheckpoint(path);
//   absl::Status status = Restore(run, *checkpoint, {.path = path});
//
// Before FitBegin (a resume) or between two steps (a rollback). The loop then
// goes on where the checkpoint was captured, in the middle of an epoch too: it
// begins the epoch's batches there, and calls RestoreEpoch. Hooks: BeforeLoad,
// the plugins' LoadState, AfterLoad.
//
// Names count, positions never: a checkpoint fits a model whose parameters were
// registered in another order, and an optimizer with other groups.
#ifndef SLIPWAY_TRAINER_LOOP_RESTORING_H_
#define SLIPWAY_TRAINER_LOOP_RESTORING_H_

#include <string>

#include "absl/status/status.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

struct RestoreOptions {
  // What messages and hooks call the checkpoint; empty: it is in memory.
  std::string path = {};
  // A name that is missing or unexpected, or a shape that differs, is an error;
  // else what fits is taken, and the rest is told as a warning. That nothing of
  // the model fits is an error in any case.
  bool strict = true;
  // Without it the optimizer and the loss scaler start afresh.
  bool optimizer = true;
};

// INVALID_ARGUMENT lists all that does not fit, of model, optimizer, loss and
// scaler at once; it is also for a place in the epoch at which no batch begins
// and for a plugin's state of a newer version. After an error the training must
// not go on. What is of no use here (the state of a plugin that this run does
// not have) or absent (the optimizer's state of a parameter, all but the model
// in a file of another system) is told through `run.state.report`. Tensors are
// copied: `checkpoint` may be restored again.
absl::Status Restore(Run& run, const Checkpoint& checkpoint,
                     const RestoreOptions& options);

// Puts back, once, what the beginning of an epoch overwrites: random generators
// and, in the middle of an epoch, the meters of loss and metrics. The loop
// calls it before EpochBegin where an epoch starts from its first batch, and
// after EpochBegin where it goes on.
absl::Status RestoreEpoch(Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RESTORING_H_
