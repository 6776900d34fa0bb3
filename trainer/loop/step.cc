#include "trainer/loop/step.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/fault_point.h"
#include "trainer/loop/gradients.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/scope_stack.h"

namespace slipway::loop {
namespace {

// Whether each loss and all gradients are looked at, on every device.
bool LooksAtAll(const Hyperparams& hyperparams) {
  return hyperparams.non_finite == NonFinite::kSkip ||
         hyperparams.non_finite == NonFinite::kRollback;
}

}  // namespace

Stepper::Stepper(TrainingState& state, HookRunner& hooks, Loss* loss,
                 const Hyperparams& hyperparams, const LrPlan& lr_plan)
    : state_(state),
      hooks_(hooks),
      loss_(loss),
      hyperparams_(hyperparams),
      lr_plan_(lr_plan) {}

absl::Status Stepper::MicroBatch(int64_t window) {
  BatchContext context(state_);
  if (state_.micro == 0) {
    window_loss_.Reset();
    bad_step_.reset();
    not_finite_.clear();
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kStepBegin>(context));
  }
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kMicroBegin>(context));
  SLIPWAY_RETURN_IF_ERROR(Forward());
  window_loss_.Add({.total = state_.loss.total, .items = {}}, 1);
  SLIPWAY_RETURN_IF_ERROR(CheckLoss());
  // Where others may wait in their backward pass, none is left out.
  if (!TookWholeStep() && (sync_ != nullptr || !state_.control.skip())) {
    SLIPWAY_RETURN_IF_ERROR(Backward(window));
  }
  GradientContext gradients(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kMicroEnd>(gradients));
  ++state_.micro;
  FaultPoint("micro_batch");
  return absl::OkStatus();
}

absl::Status Stepper::Forward() {
  // The last graph's memory is warm: this one's takes its place.
  state_.loss = LossOutput();
  ScopeStack scopes(state_.scopes);
  ForwardContext before(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kBeforeForward>(before));
  SLIPWAY_RETURN_IF_ERROR(RunModel());
  OutputContext after(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kAfterForward>(after));
  if (state_.whole_step.done == StepPart::kNone) {
    SLIPWAY_RETURN_IF_ERROR(ComputeLoss());
  }
  return hooks_.Run<Hook::kAfterLoss>(after);
}

// Or more than the model: see whole_step.h.
absl::Status Stepper::RunModel() {
  const PhaseScope phase(timer_, Phase::kForward);
  WholeStep& whole = state_.whole_step;
  whole.done = StepPart::kNone;
  if (whole.function) {
    state_.learning_rates = lr_plan_.At(PlanPosition());
    WholeStepContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(whole.function(context));
    if (whole.done != StepPart::kNone) return absl::OkStatus();
  }
  state_.prediction = state_.RunModel(state_.batch.input);
  return absl::OkStatus();
}

absl::Status Stepper::ComputeLoss() {
  state_.loss_set = false;
  OutputContext context(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kComputeLoss>(context));
  if (state_.loss_set) return absl::OkStatus();
  if (loss_ == nullptr) {
    return absl::FailedPreconditionError(
        "no loss: the plugin that claims it has set none in ComputeLoss");
  }
  const PhaseScope phase(timer_, Phase::kLoss);
  absl::StatusOr<LossOutput> loss =
      loss_->Compute(state_.prediction, state_.batch.target);
  if (!loss.ok()) return loss.status();
  state_.loss = *std::move(loss);
  return absl::OkStatus();
}

// On a CPU a look costs nothing. Elsewhere each one waits for the device.
bool Stepper::LossIsDue() const {
  return state_.loss.total.is_cpu() || LooksAtAll(hyperparams_) ||
         state_.step % hyperparams_.log_every == 0;
}

absl::Status Stepper::CheckLoss() {
  if (hyperparams_.non_finite == NonFinite::kContinue || !LossIsDue()) {
    return absl::OkStatus();
  }
  const double value = state_.loss.total.item().toDouble();
  if (std::isfinite(value)) return absl::OkStatus();
  const std::string what = absl::StrCat("the loss is ", value);
  if (sync_ == nullptr) return NotFinite(what);
  if (not_finite_.empty()) not_finite_ = what;
  return absl::OkStatus();
}

absl::Status Stepper::Backward(int64_t window) {
  const PhaseScope phase(timer_, Phase::kBackward);
  GradientContext context(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kBeforeBackward>(context));
  at::Tensor loss = state_.loss.total;
  if (hyperparams_.accumulate == Accumulate::kMean && window > 1) {
    loss = loss.div(static_cast<double>(window));
  }
  if (state_.scaler != nullptr) loss = state_.scaler->Scale(loss);
  if (sync_ != nullptr && state_.micro + 1 == window) BeginSync();
  loss.backward();
  return hooks_.Run<Hook::kAfterBackward>(context);
}

void Stepper::BeginSync() {
  const bool due = LossIsDue() || guards_.spikes != nullptr;
  sync_->Begin(not_finite_.empty(), [this, due](Word& word) {
    word.skip = state_.control.skip();
    word.not_finite = !not_finite_.empty();
    word.step = state_.step;
    if (due) word.loss = window_loss_.Compute()[0].second;
    speak_(word);
  });
}

// The reasons travel only where there are any, which all ranks know by then.
absl::Status Stepper::Agree() {
  const PhaseScope phase(timer_, Phase::kSynchronisation);
  const absl::StatusOr<Agreement> all = sync_->Finish();
  if (!all.ok()) return all.status();
  agreement_ = *all;
  if (all->skip) {
    const auto reason = sync_->Reason(state_.control.skip_reason());
    if (!reason.ok()) return reason.status();
    state_.control.SkipStep(*reason);
  }
  if (!all->not_finite) return absl::OkStatus();
  const auto reason = sync_->Reason(not_finite_);
  return reason.ok() ? NotFinite(*reason) : reason.status();
}

absl::Status Stepper::FinishWindow() {
  if (sync_ != nullptr) SLIPWAY_RETURN_IF_ERROR(Agree());
  const PhaseScope phase(timer_, Phase::kOptimizer);
  LookForSpike();
  SLIPWAY_RETURN_IF_ERROR(TookWholeStep() ? CheckWholeStep()
                                          : PrepareGradients());
  if (bad_step_) guards_.undo->Undo();
  SLIPWAY_RETURN_IF_ERROR(Update());
  StepContext context(state_);
  // In a whole step, what these hooks do was done (step_update.h).
  if (!TookWholeStep()) {
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kAfterOptimizer>(context));
  }
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kStepEnd>(context));
  state_.micro = 0;
  FaultPoint("step");
  return absl::OkStatus();
}

bool Stepper::TookWholeStep() const {
  return state_.whole_step.done == StepPart::kAll;
}

// A loss that is not finite is known by now: then it was the gradients.
absl::Status Stepper::CheckWholeStep() {
  const bool look = LooksAtAll(hyperparams_) && !state_.control.skip();
  if (!look || state_.whole_step.taken.item().toBool()) {
    return absl::OkStatus();
  }
  return NotFinite("the gradients are not finite");
}

absl::Status Stepper::PrepareGradients() {
  const bool look = LooksAtAll(hyperparams_);
  std::vector<at::Tensor> gradients;
  if (look || hyperparams_.clip_grad_norm || state_.scaler != nullptr) {
    gradients = GradientsOf(*state_.optimizer);
  }
  if (state_.scaler != nullptr && !state_.control.skip()) {
    UnscaleGradients(gradients);
  }
  GradientContext context(state_);
  SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kBeforeOptimizer>(context));
  if (look && !state_.control.skip() && !AllFinite(gradients)) {
    SLIPWAY_RETURN_IF_ERROR(NotFinite("the gradients are not finite"));
  }
  return Clip(gradients);
}

// Overflow is how a scaler finds its scale: no case for the non-finite policy.
void Stepper::UnscaleGradients(const std::vector<at::Tensor>& gradients) {
  const double scale = state_.scaler->scale();
  const bool overflow = state_.scaler->Unscale(gradients).item().toBool();
  if (overflow) {
    state_.control.SkipStep(
        absl::StrCat("the gradients overflow at loss scale ", scale));
  }
  overflow_ = overflow;
}

absl::Status Stepper::Clip(const std::vector<at::Tensor>& gradients) {
  if (!hyperparams_.clip_grad_norm || state_.control.skip()) {
    return absl::OkStatus();
  }
  const at::Tensor norm =
      ClipGradientNorm(gradients, *hyperparams_.clip_grad_norm);
  const bool look = norm.defined() && norm.is_cpu() &&
                    hyperparams_.non_finite != NonFinite::kContinue;
  if (!look || std::isfinite(norm.item().toDouble())) return absl::OkStatus();
  return NotFinite("the gradients' norm is not finite");
}

absl::Status Stepper::Update() {
  const bool take = !state_.control.skip();
  skip_reason_ = state_.control.skip_reason();
  state_.learning_rates = lr_plan_.At(PlanPosition());
  if (take) {
    SLIPWAY_RETURN_IF_ERROR(TakeStep());
    ++state_.step;
    if (guards_.spikes != nullptr) guards_.spikes->Add(WindowLoss());
  }
  if (state_.scaler != nullptr && (take || overflow_)) {
    state_.scaler->Update(overflow_);
  }
  state_.optimizer->ZeroGrad();
  state_.step_taken = take;
  overflow_ = false;
  ++windows_;
  return absl::OkStatus();
}

absl::Status Stepper::TakeStep() {
  if (!TookWholeStep()) return state_.optimizer->Step(state_.learning_rates);
  for (StepUpdate* update : state_.whole_step.updates) update->TookStep();
  return absl::OkStatus();
}

absl::Status Stepper::NotFinite(const std::string& what) {
  if (hyperparams_.non_finite == NonFinite::kSkip) {
    state_.control.SkipStep(what);
    return absl::OkStatus();
  }
  if (hyperparams_.non_finite == NonFinite::kRollback) {
    TakeBack(what);
    return absl::OkStatus();
  }
  stopped_by_non_finite_ = true;
  return absl::FailedPreconditionError(what);
}

void Stepper::set_progress(const Progress& progress) {
  windows_ = progress.windows;
  window_loss_.LoadState(progress.window_loss);
}

// The first reason is kept: what follows from it tells less.
void Stepper::TakeBack(const std::string& what) {
  if (!bad_step_) bad_step_ = what;
  state_.control.SkipStep(what);
}

void Stepper::LookForSpike() {
  if (guards_.spikes == nullptr || state_.control.skip()) return;
  const std::optional<std::string> spike = guards_.spikes->Check(WindowLoss());
  if (spike) TakeBack(*spike);
}

double Stepper::WindowLoss() const {
  return sync_ != nullptr ? agreement_.loss : window_loss_.Compute()[0].second;
}

}  // namespace slipway::loop
