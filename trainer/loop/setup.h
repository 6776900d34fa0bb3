// From parts to a run that can start: the setup hooks, the optimizer and the
// plan of learning rates.
#ifndef SLIPWAY_TRAINER_LOOP_SETUP_H_
#define SLIPWAY_TRAINER_LOOP_SETUP_H_

#include "trainer/loop/run.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// `run.options` and `run.parts` are set. False if and only if `problems` gained
// an error; the plugins have then heard of it (OnFailure) and are closed.
bool SetUp(Run& run, Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_SETUP_H_
