// The hooks as a closed list: names, and which method and context each has.
//
//   Hook hook = *FindHook("BeforeForward");        // Hook::kBeforeForward
//   (plugin.*kHookMethod<Hook::kBeforeForward>)(context);
//
// The names are those of manifests and plans.
#ifndef SLIPWAY_TRAINER_PLUGIN_HOOK_H_
#define SLIPWAY_TRAINER_PLUGIN_HOOK_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "trainer/plugin/plugin.h"

namespace slipway {

// In the order of plan::HookNames().
enum class Hook {
  kConfigure,
  kCreateModel,
  kTransformModel,
  kBuildOptimizer,
  kWrapForward,
  kBeforeLoad,
  kAfterLoad,
  kFitBegin,
  kEpochBegin,
  kBatchFetched,
  kStepBegin,
  kMicroBegin,
  kBeforeForward,
  kAfterForward,
  kComputeLoss,
  kAfterLoss,
  kBeforeBackward,
  kAfterBackward,
  kMicroEnd,
  kBeforeOptimizer,
  kAfterOptimizer,
  kStepEnd,
  kEpochEnd,
  kEvalBegin,
  kEvalBatchBegin,
  kEvalForward,
  kEvalBatchEnd,
  kEvalEnd,
  kBeforeSave,
  kAfterSave,
  kFitEnd,
  kOnFailure,
  kClose,
};

inline constexpr int kHookCount = static_cast<int>(Hook::kClose) + 1;

// "BeforeForward".
std::string_view ToString(Hook hook);
// Nullopt for a name that is no hook's.
std::optional<Hook> FindHook(std::string_view name);

// Plugin's methods in the enumeration's order. OnFailure and Close, its last,
// have no context and are called otherwise.
inline constexpr std::tuple kHookMethods = {
    &Plugin::Configure,      &Plugin::CreateModel,     &Plugin::TransformModel,
    &Plugin::BuildOptimizer, &Plugin::WrapForward,     &Plugin::BeforeLoad,
    &Plugin::AfterLoad,      &Plugin::FitBegin,        &Plugin::EpochBegin,
    &Plugin::BatchFetched,   &Plugin::StepBegin,       &Plugin::MicroBegin,
    &Plugin::BeforeForward,  &Plugin::AfterForward,    &Plugin::ComputeLoss,
    &Plugin::AfterLoss,      &Plugin::BeforeBackward,  &Plugin::AfterBackward,
    &Plugin::MicroEnd,       &Plugin::BeforeOptimizer, &Plugin::AfterOptimizer,
    &Plugin::StepEnd,        &Plugin::EpochEnd,        &Plugin::EvalBegin,
    &Plugin::EvalBatchBegin, &Plugin::EvalForward,     &Plugin::EvalBatchEnd,
    &Plugin::EvalEnd,        &Plugin::BeforeSave,      &Plugin::AfterSave,
    &Plugin::FitEnd,
};

// The method of Plugin that a hook calls; its type tells the context.
template <Hook hook>
inline constexpr auto kHookMethod =
    std::get<static_cast<size_t>(hook)>(kHookMethods);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_HOOK_H_
