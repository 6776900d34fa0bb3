// Whether a step can be taken in one call (plugin/whole_step.h), and what would
// be part of it.
//
//   PrepareWholeStep(hooks, hyperparams, state);
//   state.whole_step.step_blocker   // "training_hyperparams.clip_grad_norm"
#ifndef SLIPWAY_TRAINER_LOOP_WHOLE_STEP_H_
#define SLIPWAY_TRAINER_LOOP_WHOLE_STEP_H_

#include "trainer/loop/hyperparams.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {

// Fills in state.whole_step, once model, loss, optimizer and scaler are there.
void PrepareWholeStep(HookRunner& hooks, const Hyperparams& hyperparams,
                      TrainingState& state);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_WHOLE_STEP_H_
