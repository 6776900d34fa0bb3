// One optimizer step: a window of micro-batches, then the update.
//
//   Stepper stepper(state, hooks, loss, hyperparams, lr_plan);
//   for (int64_t i = 0; i < window; ++i) {
//     state.batch = ...;
//     RETURN_IF_ERROR(stepper.MicroBatch(window));
//   }
//   RETURN_IF_ERROR(stepper.FinishWindow());
//   if (state.step_taken) Log(stepper.WindowLoss());
//
// The order in a window is the plugins' contract: per micro-batch StepBegin
// (first one only), MicroBegin, BeforeForward, forward, AfterForward,
// ComputeLoss, AfterLoss, [scopes end], BeforeBackward, backward,
// AfterBackward, MicroEnd; then unscale, BeforeOptimizer, clip, step,
// AfterOptimizer, StepEnd. A skipped step counts nothing: `state.step` stays.
//
// A bad step is one that is to be taken back (`non_finite: rollback`,
// `loss_spike`). It ends as a skipped one, and what its window has left behind
// is undone before AfterOptimizer; rollback.h does the rest.
//
// Several ranks take a step together: the last micro-batch's backward pass
// sends the gradients (step_sync.h), and as FinishWindow begins all ranks know
// of each other what there is to know. They skip it, take it back or stop
// together, whichever of them has a reason. What a hook decides later must
// follow from what all ranks have, as gradients are in BeforeOptimizer.
//
// A plugin may take a whole step in one call (plugin/whole_step.h). Hooks from
// BeforeBackward to AfterOptimizer are not called in such a step: there are
// none, or what they do is part of it.
//
// May throw c10::Error; one thread's.
#ifndef SLIPWAY_TRAINER_LOOP_STEP_H_
#define SLIPWAY_TRAINER_LOOP_STEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/loop/agreement.h"
#include "trainer/loop/hyperparams.h"
#include "trainer/loop/loss_meter.h"
#include "trainer/loop/loss_spike.h"
#include "trainer/loop/lr_plan.h"
#include "trainer/loop/phase_timer.h"
#include "trainer/loop/step_sync.h"
#include "trainer/loop/window_undo.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {

// What bad steps need. All is borrowed, and null where the recipe asks for
// none.
struct StepGuards {
  LossSpike* spikes = nullptr;
  WindowUndo* undo = nullptr;
};

class Stepper {
 public:
  // All is borrowed. `loss` is null if a plugin computes it (ComputeLoss).
  Stepper(TrainingState& state, HookRunner& hooks, Loss* loss,
          const Hyperparams& hyperparams, const LrPlan& lr_plan);

  // Accounts for the time of each phase from now on; borrowed.
  void set_timer(PhaseTimer* timer) { timer_ = timer; }
  // Before the first step. Where the recipe takes bad steps back, `undo` is not
  // null.
  void set_guards(const StepGuards& guards) { guards_ = guards; }
  // Before the first step, with several ranks; borrowed. `speak` adds to what
  // they tell each other in each step.
  void set_sync(StepSync* sync, StepSync::Speak speak) {
    sync_ = sync;
    speak_ = std::move(speak);
  }

  // Trains on `state.batch`, micro-batch `state.micro` of `window`, and counts
  // `state.micro` up. Afterwards `state.prediction` and `state.loss` are this
  // batch's, for metrics.
  absl::Status MicroBatch(int64_t window);

  // Ends the window: updates the parameters unless something asked to skip.
  // `state.step_taken` tells, and `skip_reason` why not.
  absl::Status FinishWindow();

  // Mean loss over the micro-batches of the window that was finished last, and
  // over the ranks. Waits for the device.
  double WindowLoss() const;
  // With several ranks, what they know since the window was finished last.
  const Agreement& agreement() const { return agreement_; }
  const std::string& skip_reason() const { return skip_reason_; }
  // What is bad about the window; nullopt if nothing is.
  const std::optional<std::string>& bad_step() const { return bad_step_; }
  // Whether the last error is `non_finite: stop` at work.
  bool stopped_by_non_finite() const { return stopped_by_non_finite_; }

  // Where the plan of learning rates stands: steps that were taken or, under
  // `compat: supergradients`, windows.
  int64_t PlanPosition() const {
    return hyperparams_.supergradients_compat ? windows_ : state_.step;
  }

  // What a checkpoint keeps, and the loop must not lose: the windows that were
  // finished, skipped ones too, and the loss of the one that is open.
  struct Progress {
    int64_t windows = 0;
    LossMeter::State window_loss;
  };
  Progress progress() const { return {windows_, window_loss_.SaveState()}; }
  void set_progress(const Progress& progress);

 private:
  absl::Status Forward();
  absl::Status RunModel();
  absl::Status ComputeLoss();
  absl::Status CheckLoss();
  absl::Status Backward(int64_t window);
  absl::Status PrepareGradients();
  absl::Status Clip(const std::vector<at::Tensor>& gradients);
  bool TookWholeStep() const;
  absl::Status CheckWholeStep();
  absl::Status Update();
  absl::Status TakeStep();
  void BeginSync();
  bool LossIsDue() const;
  absl::Status Agree();
  absl::Status NotFinite(const std::string& what);
  void TakeBack(const std::string& what);
  void LookForSpike();
  void UnscaleGradients(const std::vector<at::Tensor>& gradients);

  TrainingState& state_;
  HookRunner& hooks_;
  Loss* loss_;
  const Hyperparams& hyperparams_;
  const LrPlan& lr_plan_;
  PhaseTimer* timer_ = nullptr;
  StepGuards guards_;
  StepSync* sync_ = nullptr;
  StepSync::Speak speak_;
  Agreement agreement_;
  // Why this rank's loss is not finite, until all ranks know.
  std::string not_finite_;
  LossMeter window_loss_{"loss"};
  int64_t windows_ = 0;  // finished, skipped ones too
  bool overflow_ = false;
  std::string skip_reason_;
  std::optional<std::string> bad_step_;
  bool stopped_by_non_finite_ = false;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STEP_H_
