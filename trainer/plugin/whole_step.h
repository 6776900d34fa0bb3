// A training step in one call, in place of what the loop does piece by piece.
//
// WrapForward may set a function (WrapContext::SetStep). The loop calls it with
// each micro-batch after BeforeForward, inside the scopes that were entered. It
// does
//   SetStep(...)     if it has taken the step: forward, loss, backward, update
//   SetForward(...)  if it has computed prediction and loss; the loop goes on
//                    with the backward pass
//   nothing          and the loop takes the step as usual.
//
// A whole step is possible only where nothing has to happen between the loss
// and the update: WrapContext::StepBlocker() says what stands in the way.
#ifndef SLIPWAY_TRAINER_PLUGIN_WHOLE_STEP_H_
#define SLIPWAY_TRAINER_PLUGIN_WHOLE_STEP_H_

#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/step_update.h"

namespace slipway {

// What has to be finite if the step is to be taken: the recipe's
// `non_finite`.
enum class StepGuard { kNone, kLoss, kGradients };

class WholeStepContext : public Context {
 public:
  using Context::Context;

  const data::Batch& current_batch() const;
  nn::Module& model();
  // The model with all that is wrapped around it.
  Value RunModel(const Value& input) const;
  // The recipe's. Only where WrapContext::LossBlocker() is empty.
  Loss& loss();
  Optimizer& optimizer();
  // Of the step to come, one for each parameter group.
  const std::vector<double>& learning_rates() const;

  // The optimizer's, then the plugins' in the order of AfterOptimizer. Empty
  // where a whole step is not possible.
  const std::vector<StepUpdate*>& updates() const;
  // Of the step to come; see StepUpdate::StepNumbers.
  absl::StatusOr<std::vector<double>> NumbersOf(
      StepUpdate& update, const std::vector<double>& learning_rates) const;
  StepGuard guard() const;
  // A hook has asked to skip this step.
  bool skips() const;

  // `loss` has a history.
  void SetForward(Value prediction, LossOutput loss);
  // `loss` and `prediction` have none. `taken` (bool[], on the device) is false
  // if the guard has kept every tensor as it was.
  void SetStep(Value prediction, LossOutput loss, at::Tensor taken);
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_WHOLE_STEP_H_
