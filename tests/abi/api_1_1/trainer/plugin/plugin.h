// The base class of plugins, and the macro that exports one.
//
//   class Ema : public slipway::Plugin {
//    public:
//     static absl::StatusOr<std::unique_ptr<Plugin>> Create(
//         const recipe::Node& config);
//     absl::Status AfterOptimizer(StepContext& context) override;
//   };
//
//   SLIPWAY_PLUGIN("ema", "1.0.0", Ema)
//
// A plugin is one shared library beside its plugin.yaml. It defines no flags,
// starts no logging, never calls exit, and gets its configuration from the
// recipe only: `config` is the manifest's config, checked and complete.
//
// Lifecycle of one object: Create; Register; Configure ... FitEnd as listed
// below; OnFailure if any hook or the loop failed; Close, always, once.
// All hooks run on the training thread. A hook that returns an error, or
// throws, is handled by the plugin's `on_error` policy: `fail` ends the run
// with an error that names plugin, hook, step and rank; `warn` reports it and
// goes on; `disable` reports it and calls no further hook of this plugin but
// Close. Only the hooks that the manifest lists are called.
#ifndef SLIPWAY_TRAINER_PLUGIN_PLUGIN_H_
#define SLIPWAY_TRAINER_PLUGIN_PLUGIN_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/abi/api_1_1/trainer/nn/module.h"
#include "tests/abi/api_1_1/trainer/plugin/components.h"
#include "tests/abi/api_1_1/trainer/plugin/context.h"
#include "tests/abi/api_1_1/trainer/plugin/entry.h"
#include "tests/abi/api_1_1/trainer/plugin/exception.h"
#include "tests/abi/api_1_1/trainer/plugin/this_abi.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"

namespace slipway {

// A plugin's part of a checkpoint: numbers and texts, and tensors by name.
struct PluginState {
  recipe::Node values;
  std::vector<nn::NamedTensor> tensors;
};

class Plugin {
 public:
  Plugin();
  virtual ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Adds the components that the manifest lists. Called once, first.
  virtual void Register(Components& components) {}

  // Setup, once each, in this order. Everything up to here is planning: an
  // error ends the run before it starts (exit code 2).
  virtual absl::Status Configure(ConfigureContext& context);
  virtual absl::Status CreateModel(ModelContext& context);
  virtual absl::Status TransformModel(ModelContext& context);
  virtual absl::Status BuildOptimizer(OptimizerContext& context);
  virtual absl::Status WrapForward(WrapContext& context);
  // Around loading a checkpoint, if one is loaded.
  virtual absl::Status BeforeLoad(CheckpointContext& context);
  virtual absl::Status AfterLoad(CheckpointContext& context);

  // The loop. A window is the micro-batches of one optimizer step:
  //   unscale -> BeforeOptimizer -> clip -> step -> AfterOptimizer.
  virtual absl::Status FitBegin(FitContext& context);
  virtual absl::Status EpochBegin(FitContext& context);
  virtual absl::Status BatchFetched(BatchContext& context);
  virtual absl::Status StepBegin(BatchContext& context);
  virtual absl::Status MicroBegin(BatchContext& context);
  virtual absl::Status BeforeForward(ForwardContext& context);
  virtual absl::Status AfterForward(OutputContext& context);
  virtual absl::Status ComputeLoss(OutputContext& context);
  virtual absl::Status AfterLoss(OutputContext& context);
  virtual absl::Status BeforeBackward(GradientContext& context);
  virtual absl::Status AfterBackward(GradientContext& context);
  virtual absl::Status MicroEnd(GradientContext& context);
  virtual absl::Status BeforeOptimizer(GradientContext& context);
  virtual absl::Status AfterOptimizer(StepContext& context);
  virtual absl::Status StepEnd(StepContext& context);
  virtual absl::Status EpochEnd(FitContext& context);

  // Evaluation.
  virtual absl::Status EvalBegin(EvalContext& context);
  virtual absl::Status EvalBatchBegin(EvalContext& context);
  virtual absl::Status EvalForward(EvalContext& context);
  virtual absl::Status EvalBatchEnd(EvalContext& context);
  virtual absl::Status EvalEnd(EvalContext& context);

  // Files: on every rank; only rank 0 writes.
  virtual absl::Status BeforeSave(CheckpointContext& context);
  virtual absl::Status AfterSave(CheckpointContext& context);

  virtual absl::Status FitEnd(FitContext& context);
  virtual void OnFailure(const absl::Status& status);
  virtual void Close();

  // State for checkpoints, called between BeforeSave and AfterSave, and between
  // BeforeLoad and AfterLoad. `version` is that of the manifest's `state` when
  // it was written.
  virtual absl::StatusOr<PluginState> SaveState();
  virtual absl::Status LoadState(int version, const PluginState& state);

  // Optional interfaces, by a name with a version ("slipway.step_update/1");
  // null if the plugin has none. How the API grows without new virtuals.
  virtual const void* Query(std::string_view interface);
};

// --- what SLIPWAY_PLUGIN is made of ------------------------------------------

template <typename T>
void* CreatePlugin(const void* config, void* status) noexcept {
  absl::Status& result = *static_cast<absl::Status*>(status);
  try {
    absl::StatusOr<std::unique_ptr<Plugin>> plugin =
        T::Create(*static_cast<const recipe::Node*>(config));
    if (plugin.ok() && *plugin != nullptr) return plugin->release();
    result = plugin.ok() ? absl::InternalError("Create returned null")
                         : plugin.status();
  } catch (...) {
    result = CurrentExceptionStatus();
  }
  return nullptr;
}

inline void DestroyPlugin(void* plugin) noexcept {
  delete static_cast<Plugin*>(plugin);
}

inline const void* NoLibraryInterface(const char* /*interface*/) noexcept {
  return nullptr;
}

}  // namespace slipway

// Exports `Class` as the plugin of this library; `id` and `version` are texts
// and equal the manifest's. Once per library, outside of namespaces. The symbol
// is weak so that the static libraries of several plugins fit into one test.
#define SLIPWAY_PLUGIN(id, version, Class)                    \
  extern "C" __attribute__((visibility("default"), weak))     \
  const SlipwayPluginDescriptor*                              \
  slipway_plugin_entry_v1() {                                 \
    static constexpr SlipwayAbiTag kAbi = slipway::ThisAbi(); \
    static constexpr SlipwayPluginDescriptor kDescriptor = {  \
        sizeof(SlipwayPluginDescriptor),                      \
        kSlipwayPluginMagic,                                  \
        kSlipwayApiMajor,                                     \
        kSlipwayApiMinor,                                     \
        &kAbi,                                                \
        id,                                                   \
        version,                                              \
        &slipway::CreatePlugin<Class>,                        \
        &slipway::DestroyPlugin,                              \
        &slipway::NoLibraryInterface};                        \
    return &kDescriptor;                                      \
  }                                                           \
  static_assert(true, "takes a semicolon")

#endif  // SLIPWAY_TRAINER_PLUGIN_PLUGIN_H_
