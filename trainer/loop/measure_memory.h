// Measures what a training holds in memory, by running three of its steps.
#ifndef SLIPWAY_TRAINER_LOOP_MEASURE_MEMORY_H_
#define SLIPWAY_TRAINER_LOOP_MEASURE_MEMORY_H_

#include "absl/status/statusor.h"
#include "trainer/loop/memory_plan.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Takes the first batch of the training data and trains on parts of it: at most
// 16 samples a step (the whole batch where its tensors cannot be cut by
// sample). `run` is not good for a training afterwards. Errors are those of
// data, hooks and the model.
absl::StatusOr<MemoryPlan> MeasureMemory(Run& run);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_MEASURE_MEMORY_H_
