// What the loop itself reads of a recipe's `training_hyperparams`, typed and
// checked.
//
//   Problems problems;
//   Hyperparams h = ReadHyperparams(recipe, problems);
//   if (HasErrors(problems)) ...
//
// Names, meanings and defaults are SuperGradients'; what is ours says so. Keys
// that belong to components (loss, optimizer, lr_mode, metrics) are read where
// those are built. Values only.
#ifndef SLIPWAY_TRAINER_LOOP_HYPERPARAMS_H_
#define SLIPWAY_TRAINER_LOOP_HYPERPARAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/loss_spike.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// How the gradients of a window's micro-batches become one (ours).
//   mean: of the micro-batches' gradients. An epoch's last, shorter window
//         takes its step with the mean of what it has.
//   sum:  as SuperGradients adds them up. An epoch's last, shorter window is
//         carried over and completed in the next epoch. The default under
//         `compat: supergradients`.
enum class Accumulate { kMean, kSum };

// What becomes of a step whose loss or gradients are not finite (ours).
//   stop:     the run ends, exit_reason non_finite. The loss is looked at in
//             every step on a CPU, and every log_every steps on other devices,
//             where each look waits for the device.
//   skip:     the step is left out. Gradients are looked at, too, so that each
//             step waits for the device.
//   rollback: the step is left out as if its batches had never been; where the
//             state before it was bad already, an earlier one returns
//             (rollback.h). Looks as often as skip.
//   continue: nothing is looked at.
enum class NonFinite { kStop, kSkip, kRollback, kContinue };

// What several ranks do about buffers, such as the running statistics of batch
// normalisation, after each step (ours).
//   broadcast: all get rank 0's, as PyTorch's DistributedDataParallel does.
//   reduce:    all get the mean of the ranks'.
enum class SyncBuffers { kBroadcast, kReduce };

struct Hyperparams {
  int64_t max_epochs = 0;
  int64_t batch_accumulate = 1;
  Accumulate accumulate = Accumulate::kMean;
  NonFinite non_finite = NonFinite::kStop;
  SyncBuffers sync_buffers = SyncBuffers::kBroadcast;
  // `compat: supergradients`: its measured behaviour, traps included (ours).
  bool supergradients_compat = false;
  int64_t log_every = 10;  // optimizer steps (ours)
  // Which losses are taken back as `non_finite: rollback` takes back nans
  // (ours); absent: none.
  std::optional<LossSpikeRule> loss_spike;
  // Optimizer steps from one digest of the whole state to the next, for
  // --replay (ours); absent: none are made.
  std::optional<int64_t> state_hash_every;
  // Epochs at the end that keep the rate of the last step before them.
  int64_t lr_cooldown_epochs = 0;

  // The total 2-norm that gradients are scaled down to; absent: no clipping.
  std::optional<double> clip_grad_norm;
  // Batches of an epoch; absent: all.
  std::optional<int64_t> max_train_batches;
  std::optional<int64_t> max_valid_batches;

  // Validation runs after every n-th epoch, the last, and those listed.
  int64_t run_validation_freq = 1;
  // Epochs from 1 after which ckpt_epoch_<n>.pth is written.
  std::vector<int64_t> save_ckpt_epoch_list;
  bool save_model = true;
  // Whether the ten best models are kept, and their mean is written at the end.
  bool average_best_models = true;
  std::string ckpt_name = "ckpt_latest.pth";
  std::string ckpt_best_name = "ckpt_best.pth";

  // A metric or the loss, matched without case and separators. Empty where the
  // recipe names none: Accuracy if that is measured, else the loss.
  std::string metric_to_watch;
  Mark metric_to_watch_mark;
  bool greater_metric_to_watch_is_better = true;

  bool zero_weight_decay_on_bias_and_bn = false;
  // Of the default generator (plus the rank) and of the samplers.
  uint64_t seed = 42;
  bool silent_mode = false;

  // Whether epoch `epoch` (from 0) is followed by a validation.
  bool ValidatesAfter(int64_t epoch) const;
  // Whether `ckpt_epoch_<epoch + 1>.pth` is due after epoch `epoch`.
  bool SavesEpoch(int64_t epoch) const;
};

// Reads `recipe`, the whole composed tree. Appends a problem for each value of
// a wrong type or range; max_epochs is mandatory.
Hyperparams ReadHyperparams(const recipe::Node& recipe, Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_HYPERPARAMS_H_
