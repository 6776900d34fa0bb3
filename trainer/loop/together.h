// How several ranks begin to train one model, and what they share.
//
//   RETURN_IF_ERROR(BeginTogether(run));   // before FitBegin, on every rank
//
// From then on all ranks have the same parameters and buffers. They take each
// step together (step_sync.h), decide together what comes after it
// (decisions.h), measure together (reduce.h) and save together (saving.h). Each
// has samples and random numbers of its own. Rank 0 writes the files, and tells
// its reporters what all ranks have measured. A rank that fails by itself
// leaves the group and tells why; the others end with `peer_lost` (ending.h).
#ifndef SLIPWAY_TRAINER_LOOP_TOGETHER_H_
#define SLIPWAY_TRAINER_LOOP_TOGETHER_H_

#include "absl/status/status.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Copies rank 0's model, other models of plugins, and tensors of the loss to
// all, and prepares the steps. Alone it does nothing. FAILED_PRECONDITION names
// what is not the same on all ranks: the names and shapes of the model, the
// numbers of batches, the place at which the training goes on, whether files
// are written. Other errors are ProcessGroup's. May throw c10::Error.
absl::Status BeginTogether(Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_TOGETHER_H_
