#include "plugins/compile/compiled_step.h"

#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/isfinite.h"
#include "ATen/ops/tensor.h"
#include "c10/util/Exception.h"
#include "plugins/compile/forward_and_loss.h"
#include "plugins/compile/no_autocast.h"
#include "plugins/compile/preserve.h"

namespace slipway::compile {
namespace {

using at::Tensor;

std::vector<double> InitialRates(WholeStepContext& context) {
  std::vector<double> rates;
  for (const ParameterGroup& group : context.optimizer().groups()) {
    rates.push_back(group.initial_lr);
  }
  return rates;
}

// What the optimizer counts with, which no graph writes.
std::vector<Tensor> CountersOf(WholeStepContext& context) {
  std::vector<Tensor> counters;
  for (const auto& [parameter, state] : context.optimizer().State()) {
    for (const auto& [name, tensor] : state) {
      if (tensor.dim() == 0) counters.push_back(tensor);
    }
  }
  return counters;
}

// Whether what the guard looks at is finite.
Tensor AllFinite(WholeStepContext& context, const Tensor& loss) {
  Tensor finite = at::isfinite(loss);
  if (context.guard() != StepGuard::kGradients) return finite;
  for (const auto& [name, parameter] : context.model().NamedParameters()) {
    if (!parameter.grad().defined()) continue;
    finite = finite.logical_and(at::isfinite(parameter.grad()).all());
  }
  return finite;
}

}  // namespace

absl::Status CompiledStep::Run(WholeStepContext& context) {
  if (context.skips()) return absl::OkStatus();
  const Value batch = WithTarget(context.current_batch());
  const absl::Status status = SetInputs(context, batch);
  if (absl::IsUnavailable(status)) return absl::OkStatus();  // not yet
  if (!status.ok()) inputs_.emplace(context.model(), batch);
  CompiledGraph* const graph =
      graphs_.For(*inputs_, [&]() -> absl::StatusOr<Capture> {
        if (!status.ok()) return status;
        return CaptureStep(FunctionsOf(context), *inputs_, batch);
      });
  if (graph != nullptr) RunGraph(*graph, context, batch);
  if (status.ok()) {
    // A batch is not held until the next one comes.
    inputs_->set_batch(Value());
  } else {
    inputs_.reset();  // no step's
  }
  return absl::OkStatus();
}

StepFunctions CompiledStep::FunctionsOf(WholeStepContext& context) const {
  const auto forward = [&context](const Value& batch) {
    return ForwardAndLoss(context, batch);
  };
  const auto update = [this, &context](const std::vector<Tensor>& numbers) {
    Update(context, 0, numbers);
  };
  return {.forward = forward, .update = update, .guard = context.guard()};
}

absl::Status CompiledStep::SetInputs(WholeStepContext& context,
                                     const Value& batch) {
  const absl::StatusOr<std::vector<nn::NamedTensor>> updated = Updated(context);
  if (!updated.ok()) return updated.status();
  const absl::StatusOr<Tensor> numbers =
      Numbers(context, context.learning_rates());
  if (!numbers.ok()) return numbers.status();
  // A parameter's first gradient brings state that was not there.
  if (!inputs_ || inputs_->updated_count() != updated->size()) {
    inputs_.emplace(context.model(), *updated, *numbers, batch);
    return absl::OkStatus();
  }
  // A checkpoint that was loaded meanwhile has brought other tensors.
  inputs_->set_updated(*updated);
  inputs_->set_numbers(*numbers);
  inputs_->set_batch(batch);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<nn::NamedTensor>> CompiledStep::Updated(
    const WholeStepContext& context) const {
  std::vector<nn::NamedTensor> all;
  for (StepUpdate* update : context.updates()) {
    absl::StatusOr<std::vector<nn::NamedTensor>> own = update->UpdatedTensors();
    if (!own.ok()) return own.status();
    for (nn::NamedTensor& tensor : *own) all.push_back(std::move(tensor));
  }
  return all;
}

absl::StatusOr<Tensor> CompiledStep::Numbers(const WholeStepContext& context,
                                             const std::vector<double>& rates) {
  std::vector<double> all;
  number_counts_.clear();
  for (StepUpdate* update : context.updates()) {
    const absl::StatusOr<std::vector<double>> own =
        context.NumbersOf(*update, rates);
    if (!own.ok()) return own.status();
    all.insert(all.end(), own->begin(), own->end());
    number_counts_.push_back(own->size());
  }
  return at::tensor(all, at::TensorOptions(at::kFloat)).to(context.device());
}

void CompiledStep::RunGraph(CompiledGraph& graph, WholeStepContext& context,
                            const Value& batch) {
  const Package* const package = graph.Ready([&](const TrialOptions& options) {
    return MakeTrial(context, batch, options);
  });
  trial_inputs_.reset();
  if (package == nullptr) return;
  std::vector<Tensor> outputs = package->Run(inputs_->tensors());
  Tensor taken = std::move(outputs.at(package->facts().outputs - 1));
  const Value output = graph.Unflatten(std::move(outputs));
  context.SetStep(PredictionOf(output), LossOf(output), std::move(taken));
}

std::unique_ptr<Trial> CompiledStep::MakeTrial(WholeStepContext& context,
                                               const Value& batch,
                                               const TrialOptions& options) {
  const absl::StatusOr<Tensor> numbers =
      Numbers(context, InitialRates(context));
  TORCH_CHECK(numbers.ok(), numbers.status().message());
  trial_inputs_ = inputs_;
  trial_inputs_->set_numbers(*numbers);
  const auto eager = [&](const std::vector<Tensor>& tensors) {
    return TakeEagerly(context, trial_inputs_->BatchIn(tensors, batch))
        .Flatten();
  };
  auto trial = std::make_unique<Trial>(eager, *trial_inputs_, options);
  // A step that is not taken tells nothing about the code for it.
  const bool taken = trial->expected().back().item().toBool();
  return taken ? std::move(trial) : nullptr;
}

// A step as the loop takes it, and as a graph returns it.
Value CompiledStep::TakeEagerly(WholeStepContext& context, const Value& batch) {
  const Preserve counters(CountersOf(context));
  const at::AutoGradMode with_gradients(true);
  Value::Map output = ForwardAndLoss(context, batch).map();
  const NoAutocast no_autocast;
  const Tensor loss = output[0].second.tensor();
  loss.backward();
  output[0].second = Value(loss.detach());
  const Tensor taken = AllFinite(context, loss.detach());
  if (taken.item().toBool()) {
    const absl::Status status = context.optimizer().Step(InitialRates(context));
    TORCH_CHECK(status.ok(), status.message());
    // The first one is the optimizer's.
    Update(context, 1,
           trial_inputs_->tensors()[trial_inputs_->state_size() - 1].unbind());
  }
  context.optimizer().ZeroGrad();
  output.emplace_back("taken", Value(taken));
  return Value(std::move(output));
}

void CompiledStep::Update(const WholeStepContext& context, size_t first,
                          const std::vector<Tensor>& numbers) const {
  auto begin = numbers.begin();
  for (size_t i = 0; i < number_counts_.size(); ++i) {
    const auto end = begin + static_cast<int64_t>(number_counts_[i]);
    if (i >= first) context.updates()[i]->Update({begin, end});
    begin = end;
  }
}

}  // namespace slipway::compile
