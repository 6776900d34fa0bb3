#include "trainer/plugin/plugin.h"

namespace slipway {

// Every hook is out of line: this file has the class's one virtual table.
Plugin::Plugin() = default;
Plugin::~Plugin() = default;

absl::Status Plugin::Configure(ConfigureContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::CreateModel(ModelContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::TransformModel(ModelContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BuildOptimizer(OptimizerContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::WrapForward(WrapContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BeforeLoad(CheckpointContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterLoad(CheckpointContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::FitBegin(FitContext& context) { return absl::OkStatus(); }

absl::Status Plugin::EpochBegin(FitContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BatchFetched(BatchContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::StepBegin(BatchContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::MicroBegin(BatchContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BeforeForward(ForwardContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterForward(OutputContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::ComputeLoss(OutputContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterLoss(OutputContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BeforeBackward(GradientContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterBackward(GradientContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::MicroEnd(GradientContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::BeforeOptimizer(GradientContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterOptimizer(StepContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::StepEnd(StepContext& context) { return absl::OkStatus(); }

absl::Status Plugin::EpochEnd(FitContext& context) { return absl::OkStatus(); }

absl::Status Plugin::EvalBegin(EvalContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::EvalBatchBegin(EvalContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::EvalForward(EvalContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::EvalBatchEnd(EvalContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::EvalEnd(EvalContext& context) { return absl::OkStatus(); }

absl::Status Plugin::BeforeSave(CheckpointContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::AfterSave(CheckpointContext& context) {
  return absl::OkStatus();
}

absl::Status Plugin::FitEnd(FitContext& context) { return absl::OkStatus(); }

void Plugin::OnFailure(const absl::Status& status) {}

void Plugin::Close() {}

absl::StatusOr<PluginState> Plugin::SaveState() { return PluginState(); }

absl::Status Plugin::LoadState(int version, const PluginState& state) {
  return absl::OkStatus();
}

const void* Plugin::Query(std::string_view interface) { return nullptr; }

}  // namespace slipway
