// The whole state of a training as a value.
//
//   CheckpointContext context(run.state);
//   absl::StatusOr<Checkpoint> checkpoint = Capture(run, context);
//   ... WriteCheckpoint(*checkpoint, path), or Copy(*checkpoint) to keep it
//   absl::Status status = run.hooks().Run<Hook::kAfterSave>(context);
//
// restoring.h puts it back. What is captured, so that the rest of the training
// is bit for bit what it would have been (on one thread): weights and buffers;
// the optimizer's state by parameter name; the loss scaler with its tracker;
// tensors of the loss; every plugin's state and what it adds ("ema_net"); the
// place in the epoch; gradients, loss and fate of a window that is open; meters
// of loss and metrics; the best value; random generators; counts. Schedules and
// warm-ups have no state: they are functions of the step.
#ifndef SLIPWAY_TRAINER_LOOP_CAPTURING_H_
#define SLIPWAY_TRAINER_LOOP_CAPTURING_H_

#include "absl/status/statusor.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Between two micro-batches, or between epochs. Calls BeforeSave and the
// plugins' SaveState; the caller calls AfterSave when it is done. The tensors
// are the training's own: the next batch changes them. Of several ranks it is
// this one's state. Errors are of hooks. May throw c10::Error.
absl::StatusOr<Checkpoint> Capture(Run& run, CheckpointContext& context);

// The same of all ranks together, on all of them: every rank's generator,
// meters of all samples, and of an open window the mean of the ranks'
// gradients. Errors are of the group, too.
absl::StatusOr<Checkpoint> CaptureAllRanks(Run& run,
                                           CheckpointContext& context);

// The rates of the next step by parameter group.
NamedValues NextRates(const Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_CAPTURING_H_
