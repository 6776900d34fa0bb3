#include "plugins/testing/watched.h"

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/plugin/plugin.h"

namespace slipway::testing {
namespace {

template <typename ContextType, typename... Types>
constexpr bool kIsOneOf = (std::is_same_v<ContextType, Types> || ...);

template <typename ContextType>
Seen SeenIn(ContextType& context) {
  Seen seen;
  if constexpr (requires { context.current_batch(); }) {
    seen.batch = &context.current_batch();
  }
  seen.may_write_model =
      kIsOneOf<ContextType, ModelContext, OptimizerContext, WrapContext,
               FitContext, GradientContext, EvalContext>;
  seen.may_write_gradients = kIsOneOf<ContextType, FitContext, GradientContext>;
  seen.may_write_batch = kIsOneOf<ContextType, BatchContext>;
  return seen;
}

class Watched : public Plugin {
 public:
  Watched(PluginPointer inner, Watcher& watcher)
      : inner_(std::move(inner)), watcher_(watcher) {}

  absl::Status Configure(ConfigureContext& context) override {
    return Pass<Hook::kConfigure>(context);
  }
  absl::Status CreateModel(ModelContext& context) override {
    return Pass<Hook::kCreateModel>(context);
  }
  absl::Status TransformModel(ModelContext& context) override {
    return Pass<Hook::kTransformModel>(context);
  }
  absl::Status BuildOptimizer(OptimizerContext& context) override {
    return Pass<Hook::kBuildOptimizer>(context);
  }
  absl::Status WrapForward(WrapContext& context) override {
    return Pass<Hook::kWrapForward>(context);
  }
  absl::Status BeforeLoad(CheckpointContext& context) override {
    return Pass<Hook::kBeforeLoad>(context);
  }
  absl::Status AfterLoad(CheckpointContext& context) override {
    return Pass<Hook::kAfterLoad>(context);
  }
  absl::Status FitBegin(FitContext& context) override {
    return Pass<Hook::kFitBegin>(context);
  }
  absl::Status EpochBegin(FitContext& context) override {
    return Pass<Hook::kEpochBegin>(context);
  }
  absl::Status BatchFetched(BatchContext& context) override {
    return Pass<Hook::kBatchFetched>(context);
  }
  absl::Status StepBegin(BatchContext& context) override {
    return Pass<Hook::kStepBegin>(context);
  }
  absl::Status MicroBegin(BatchContext& context) override {
    return Pass<Hook::kMicroBegin>(context);
  }
  absl::Status BeforeForward(ForwardContext& context) override {
    return Pass<Hook::kBeforeForward>(context);
  }
  absl::Status AfterForward(OutputContext& context) override {
    return Pass<Hook::kAfterForward>(context);
  }
  absl::Status ComputeLoss(OutputContext& context) override {
    return Pass<Hook::kComputeLoss>(context);
  }
  absl::Status AfterLoss(OutputContext& context) override {
    return Pass<Hook::kAfterLoss>(context);
  }
  absl::Status BeforeBackward(GradientContext& context) override {
    return Pass<Hook::kBeforeBackward>(context);
  }
  absl::Status AfterBackward(GradientContext& context) override {
    return Pass<Hook::kAfterBackward>(context);
  }
  absl::Status MicroEnd(GradientContext& context) override {
    return Pass<Hook::kMicroEnd>(context);
  }
  absl::Status BeforeOptimizer(GradientContext& context) override {
    return Pass<Hook::kBeforeOptimizer>(context);
  }
  absl::Status AfterOptimizer(StepContext& context) override {
    return Pass<Hook::kAfterOptimizer>(context);
  }
  absl::Status StepEnd(StepContext& context) override {
    return Pass<Hook::kStepEnd>(context);
  }
  absl::Status EpochEnd(FitContext& context) override {
    return Pass<Hook::kEpochEnd>(context);
  }
  absl::Status EvalBegin(EvalContext& context) override {
    return Pass<Hook::kEvalBegin>(context);
  }
  absl::Status EvalBatchBegin(EvalContext& context) override {
    return Pass<Hook::kEvalBatchBegin>(context);
  }
  absl::Status EvalForward(EvalContext& context) override {
    return Pass<Hook::kEvalForward>(context);
  }
  absl::Status EvalBatchEnd(EvalContext& context) override {
    return Pass<Hook::kEvalBatchEnd>(context);
  }
  absl::Status EvalEnd(EvalContext& context) override {
    return Pass<Hook::kEvalEnd>(context);
  }
  absl::Status BeforeSave(CheckpointContext& context) override {
    return Pass<Hook::kBeforeSave>(context);
  }
  absl::Status AfterSave(CheckpointContext& context) override {
    return Pass<Hook::kAfterSave>(context);
  }
  absl::Status FitEnd(FitContext& context) override {
    return Pass<Hook::kFitEnd>(context);
  }

  void OnFailure(const absl::Status& status) override {
    watcher_.Before(Hook::kOnFailure, {});
    inner_->OnFailure(status);
    watcher_.After(Hook::kOnFailure, {});
  }
  void Close() override {
    watcher_.Before(Hook::kClose, {});
    inner_->Close();
    watcher_.After(Hook::kClose, {});
  }
  absl::StatusOr<PluginState> SaveState() override {
    return inner_->SaveState();
  }
  absl::Status LoadState(int version, const PluginState& state) override {
    return inner_->LoadState(version, state);
  }
  const void* Query(std::string_view interface) override {
    return inner_->Query(interface);
  }

 private:
  template <Hook hook, typename ContextType>
  absl::Status Pass(ContextType& context) {
    const Seen seen = SeenIn(context);
    watcher_.Before(hook, seen);
    const absl::Status status = ((*inner_).*kHookMethod<hook>)(context);
    watcher_.After(hook, seen);
    return status;
  }

  PluginPointer inner_;
  Watcher& watcher_;
};

}  // namespace

PluginPointer Watch(PluginPointer plugin, Watcher& watcher) {
  return PluginPointer(new Watched(std::move(plugin), watcher));
}

PluginPointer Spy(Watcher& watcher) {
  return Watch(PluginPointer(new Plugin), watcher);
}

}  // namespace slipway::testing
