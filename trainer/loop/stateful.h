// A training all of whose parts have state, for tests of checkpoints: a net
// with BatchNorm and dropout, shuffled points, momentum, a loss scale that
// doubles, and a plugin that counts, averages, draws random numbers and skips a
// step.
//
//   Stateful setting;
//   setting.on_batch = [&](BatchContext& context) { ... };
//   TrainerParts parts = StatefulParts(setting);
//   auto trainer = Trainer::Create(std::move(parts), Options(2), problems);
//
// Whatever of it a checkpoint loses, some later step shows.
#ifndef SLIPWAY_TRAINER_LOOP_STATEFUL_H_
#define SLIPWAY_TRAINER_LOOP_STATEFUL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/trainer.h"
#include "trainer/plugin/context.h"

namespace slipway::loop {

struct Stateful {
  int64_t samples = 22;
  int64_t batch_size = 4;
  int workers = 0;
  // The first step that is skipped, once; -1: none.
  int64_t skipped_step = 3;
  // Called with every batch before it is trained on.
  std::function<void(BatchContext& context)> on_batch = nullptr;
  // Called at the end of every evaluation batch.
  std::function<void(EvalContext& context)> on_eval_batch = nullptr;
  // See Points().
  std::function<absl::Status(int64_t index, data::Sample& sample)> fault =
      nullptr;
};

// With 8 samples to validate on.
TrainerParts StatefulParts(const Stateful& setting);

// Every difference between two checkpoints is a failure of the test: tensors
// bit for bit, random generators, progress, results. Times do not count.
void ExpectSameState(const Checkpoint& a, const Checkpoint& b);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STATEFUL_H_
