#include "trainer/plugin/whole_step.h"

#include <utility>

#include "trainer/plugin/training_state.h"

namespace slipway {

const data::Batch& WholeStepContext::current_batch() const {
  return state_->batch;
}

nn::Module& WholeStepContext::model() { return *state_->model; }

Value WholeStepContext::RunModel(const Value& input) const {
  return state_->RunModel(input);
}

Loss& WholeStepContext::loss() { return *state_->loss_function; }
Optimizer& WholeStepContext::optimizer() { return *state_->optimizer; }

const std::vector<double>& WholeStepContext::learning_rates() const {
  return state_->learning_rates;
}

const std::vector<StepUpdate*>& WholeStepContext::updates() const {
  return state_->whole_step.updates;
}

absl::StatusOr<std::vector<double>> WholeStepContext::NumbersOf(
    StepUpdate& update, const std::vector<double>& learning_rates) const {
  return update.StepNumbers(StepContext(*state_), learning_rates);
}

StepGuard WholeStepContext::guard() const { return state_->whole_step.guard; }

bool WholeStepContext::skips() const { return state_->control.skip(); }

void WholeStepContext::SetForward(Value prediction, LossOutput loss) {
  state_->prediction = std::move(prediction);
  state_->loss = std::move(loss);
  state_->whole_step.done = StepPart::kForward;
}

void WholeStepContext::SetStep(Value prediction, LossOutput loss,
                               at::Tensor taken) {
  SetForward(std::move(prediction), std::move(loss));
  state_->whole_step.done = StepPart::kAll;
  state_->whole_step.taken = std::move(taken);
}

}  // namespace slipway
