#include "plugins/ema/ema.h"

#include <string>
#include <utility>

#include "trainer/recipe/params.h"

namespace slipway::ema {
namespace {

DecayType TypeOf(const std::string& name) {
  if (name == "constant") return DecayType::kConstant;
  return name == "threshold" ? DecayType::kThreshold : DecayType::kExp;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> Ema::Create(
    const recipe::Node& config) {
  Problems problems;
  recipe::Params params(config, "plugin ema", problems);
  Decay decay;
  decay.decay =
      params.Double("decay", {.fallback = decay.decay, .min = 0, .max = 1});
  decay.type = TypeOf(
      params.Text("decay_type", "exp", {"constant", "threshold", "exp"}));
  decay.beta = params.Double("beta", {.fallback = decay.beta, .min = 0});
  params.Finish();
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(FormatProblems(problems));
  }
  return std::make_unique<Ema>(decay);
}

absl::Status Ema::AfterLoad(CheckpointContext& context) {
  const std::vector<nn::NamedTensor>* found = context.FindTensors("ema_net");
  const bool updates_known = std::exchange(updates_known_, false);
  if (found != nullptr) {
    // A file of another system: as many updates as steps.
    if (!updates_known) updates_ = context.step();
    // In the middle of a training (a rollback) at once.
    if (average_ != nullptr) return average_->Load(*found);
    loaded_ = *found;
    return absl::OkStatus();
  }
  updates_ = 0;
  context.Report(
      {.kind = "checkpoint",
       .severity = Severity::kWarning,
       .message = "the checkpoint has no averaged weights (ema_net)",
       .detail = "the average starts anew at the weights that were loaded",
       .plugins = {"ema"}});
  return absl::OkStatus();
}

absl::Status Ema::FitBegin(FitContext& context) {
  counts_batches_ = context.supergradients_compat();
  average_ = std::make_unique<WeightAverage>(context.model(), counts_batches_);
  if (!loaded_) return absl::OkStatus();
  const absl::Status status = average_->Load(*loaded_);
  loaded_.reset();
  return status;
}

absl::Status Ema::AfterOptimizer(StepContext& context) {
  if (context.supergradients_compat()) {
    const int64_t batches = context.batches_per_epoch();
    const int64_t t = context.epoch() * batches + context.batch() + 1;
    average_->Update(decay_.At(t, context.max_epochs() * batches));
  } else if (context.step_taken()) {
    average_->Update(decay_.At(updates_ + 1, context.total_steps()));
  } else {
    return absl::OkStatus();
  }
  ++updates_;
  return absl::OkStatus();
}

absl::Status Ema::EvalBegin(EvalContext& context) {
  // The mean of the best checkpoints is made of averages already.
  if (average_ == nullptr || context.split() == "average") {
    return absl::OkStatus();
  }
  const absl::Status status = average_->CheckModel(context.model());
  if (status.ok()) context.Enter(average_->SwapIn());
  return status;
}

absl::Status Ema::BeforeSave(CheckpointContext& context) {
  if (average_ != nullptr) context.SetTensors("ema_net", average_->State());
  return absl::OkStatus();
}

absl::StatusOr<PluginState> Ema::SaveState() {
  PluginState state;
  state.values = recipe::Node::Map();
  state.values.Set("updates", recipe::Node::Int(updates_));
  return state;
}

absl::Status Ema::LoadState(int version, const PluginState& state) {
  Problems problems;
  recipe::Params params(state.values, "the saved state of ema", problems);
  updates_ = params.Int("updates", {.min = 0});
  updates_known_ = true;
  return ToStatus(problems);
}

// --- as a part of a compiled step --------------------------------------------

const void* Ema::Query(std::string_view interface) {
  return interface == kStepUpdateInterface
             ? static_cast<const StepUpdate*>(this)
             : nullptr;
}

absl::StatusOr<std::vector<nn::NamedTensor>> Ema::UpdatedTensors() {
  if (counts_batches_) {
    return absl::FailedPreconditionError(
        "compat: supergradients, whose average moves in skipped steps, too");
  }
  std::vector<nn::NamedTensor> tensors = average_->Averages();
  for (auto& [name, tensor] : tensors) name = "ema/" + name;
  return tensors;
}

absl::StatusOr<std::vector<double>> Ema::StepNumbers(
    const StepContext& context, const std::vector<double>& /*learning_rates*/) {
  return std::vector<double>{1 -
                             decay_.At(updates_ + 1, context.total_steps())};
}

void Ema::Update(const std::vector<at::Tensor>& numbers) {
  average_->UpdateBy(numbers[0]);
}

void Ema::TookStep() { ++updates_; }

}  // namespace slipway::ema

SLIPWAY_PLUGIN("ema", "1.0.0", slipway::ema::Ema);
