// One pass over a loader without training.
//
//   Evaluation valid{.split = "valid", .loader = loader, .metrics = metrics};
//   absl::StatusOr<EvaluationResult> result = Evaluate(state, hooks, valid);
//
// The model runs in evaluation mode and without gradients, inside the scopes
// that EvalBegin hooks enter (averaged weights), and is in train mode again
// afterwards.
#ifndef SLIPWAY_TRAINER_LOOP_EVALUATION_H_
#define SLIPWAY_TRAINER_LOOP_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/loader.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/reduce.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/training_state.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

// All is borrowed.
struct Evaluation {
  std::string split;  // "valid", "test", "average" (of the best models)
  data::Loader* loader = nullptr;
  MetricList* metrics = nullptr;
  Loss* loss = nullptr;  // null: none is computed
  std::string loss_name;
  std::optional<int64_t> max_batches;
  // Whose samples the values are of, together; null: this process's alone.
  dist::ProcessGroup* group = nullptr;
  // Called before each batch; `stalled`: a stop came before the loader had it.
  // False breaks the pass off. Null: only a stop does.
  std::function<absl::StatusOr<bool>(bool stalled)> goes_on;
  // Called after every batch with the batches done and those of the pass; false
  // breaks the pass off.
  std::function<bool(int64_t done, int64_t batches)> progress;
  // Called after a whole pass with its values, while the weights that were
  // evaluated are still in place.
  std::function<void(const NamedValues& values)> at_end;
};

struct EvaluationResult {
  // The loss and its parts, then each metric's values, in their order.
  NamedValues values;
  double seconds = 0;
  // Messages of samples that were left out.
  std::vector<std::string> skipped_samples;
  // False if `goes_on`, `progress` or the loader's stop broke it off: there are
  // no values then.
  bool complete = true;
  // The pass, if it was broken off: whoever destroys it waits for the samples
  // that are being made.
  std::unique_ptr<data::Epoch> abandoned;
};

// Errors of hooks, loader, loss and metrics end it. May throw c10::Error.
absl::StatusOr<EvaluationResult> Evaluate(TrainingState& state,
                                          HookRunner& hooks,
                                          const Evaluation& evaluation);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_EVALUATION_H_
