// A plugin whose hooks all come to one place: for tests of those who call
// hooks.
//
//   class Recorder : public EveryHook {
//     absl::Status At(std::string_view hook) override { ... }
//   };
#ifndef SLIPWAY_TRAINER_PLUGIN_TESTING_EVERY_HOOK_H_
#define SLIPWAY_TRAINER_PLUGIN_TESTING_EVERY_HOOK_H_

#include <string_view>

#include "absl/status/status.h"
#include "trainer/plugin/plugin.h"

namespace slipway {

class EveryHook : public Plugin {
 public:
  // What each hook does; `hook` is its name, such as "FitBegin". A status that
  // OnFailure and Close return is dropped.
  virtual absl::Status At(std::string_view hook) = 0;

  absl::Status Configure(ConfigureContext& context) override {
    return At("Configure");
  }
  absl::Status CreateModel(ModelContext& context) override {
    return At("CreateModel");
  }
  absl::Status TransformModel(ModelContext& context) override {
    return At("TransformModel");
  }
  absl::Status BuildOptimizer(OptimizerContext& context) override {
    return At("BuildOptimizer");
  }
  absl::Status WrapForward(WrapContext& context) override {
    return At("WrapForward");
  }
  absl::Status BeforeLoad(CheckpointContext& context) override {
    return At("BeforeLoad");
  }
  absl::Status AfterLoad(CheckpointContext& context) override {
    return At("AfterLoad");
  }
  absl::Status FitBegin(FitContext& context) override { return At("FitBegin"); }
  absl::Status EpochBegin(FitContext& context) override {
    return At("EpochBegin");
  }
  absl::Status BatchFetched(BatchContext& context) override {
    return At("BatchFetched");
  }
  absl::Status StepBegin(BatchContext& context) override {
    return At("StepBegin");
  }
  absl::Status MicroBegin(BatchContext& context) override {
    return At("MicroBegin");
  }
  absl::Status BeforeForward(ForwardContext& context) override {
    return At("BeforeForward");
  }
  absl::Status AfterForward(OutputContext& context) override {
    return At("AfterForward");
  }
  absl::Status ComputeLoss(OutputContext& context) override {
    return At("ComputeLoss");
  }
  absl::Status AfterLoss(OutputContext& context) override {
    return At("AfterLoss");
  }
  absl::Status BeforeBackward(GradientContext& context) override {
    return At("BeforeBackward");
  }
  absl::Status AfterBackward(GradientContext& context) override {
    return At("AfterBackward");
  }
  absl::Status MicroEnd(GradientContext& context) override {
    return At("MicroEnd");
  }
  absl::Status BeforeOptimizer(GradientContext& context) override {
    return At("BeforeOptimizer");
  }
  absl::Status AfterOptimizer(StepContext& context) override {
    return At("AfterOptimizer");
  }
  absl::Status StepEnd(StepContext& context) override { return At("StepEnd"); }
  absl::Status EpochEnd(FitContext& context) override { return At("EpochEnd"); }
  absl::Status EvalBegin(EvalContext& context) override {
    return At("EvalBegin");
  }
  absl::Status EvalBatchBegin(EvalContext& context) override {
    return At("EvalBatchBegin");
  }
  absl::Status EvalForward(EvalContext& context) override {
    return At("EvalForward");
  }
  absl::Status EvalBatchEnd(EvalContext& context) override {
    return At("EvalBatchEnd");
  }
  absl::Status EvalEnd(EvalContext& context) override { return At("EvalEnd"); }
  absl::Status BeforeSave(CheckpointContext& context) override {
    return At("BeforeSave");
  }
  absl::Status AfterSave(CheckpointContext& context) override {
    return At("AfterSave");
  }
  absl::Status FitEnd(FitContext& context) override { return At("FitEnd"); }
  void OnFailure(const absl::Status& status) override {
    At("OnFailure").IgnoreError();
  }
  void Close() override { At("Close").IgnoreError(); }
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_TESTING_EVERY_HOOK_H_
