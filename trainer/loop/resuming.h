// Takes a training up from a checkpoint before it runs: restoring.h, and what
// people are told of it.
#ifndef SLIPWAY_TRAINER_LOOP_RESUMING_H_
#define SLIPWAY_TRAINER_LOOP_RESUMING_H_

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/run.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// See Trainer::Resume.
bool ResumeRun(Run& run, const Checkpoint& checkpoint,
               const ResumeOptions& options, Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RESUMING_H_
