#include "trainer/loop/whole_step.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace slipway::loop {
namespace {

StepGuard GuardOf(NonFinite policy) {
  switch (policy) {
    case NonFinite::kContinue:
      return StepGuard::kNone;
    case NonFinite::kStop:
      return StepGuard::kLoss;
    case NonFinite::kSkip:
    case NonFinite::kRollback:
      break;
  }
  return StepGuard::kGradients;
}

// "the hook AfterLoss of com.acme.noise"; empty if nobody has one of `hooks`.
std::string HookAmong(std::initializer_list<Hook> hooks,
                      const HookRunner& runner) {
  for (const Hook hook : hooks) {
    for (const RunningPlugin* plugin : runner.PluginsAt(hook)) {
      return absl::StrCat("the hook ", std::string(ToString(hook)), " of ",
                          plugin->id);
    }
  }
  return "";
}

std::string LossBlocker(const HookRunner& hooks, const TrainingState& state) {
  const std::string hook =
      HookAmong({Hook::kAfterForward, Hook::kComputeLoss}, hooks);
  if (!hook.empty()) return hook;
  return state.loss_function == nullptr ? "no loss" : "";
}

std::string RecipeBlocker(const Hyperparams& h, const TrainingState& state) {
  if (state.world_size > 1) return "the exchange of gradients between ranks";
  if (state.scaler != nullptr) return "the scaling of the loss";
  if (h.batch_accumulate > 1) return "training_hyperparams.batch_accumulate";
  if (h.clip_grad_norm) return "training_hyperparams.clip_grad_norm";
  if (h.loss_spike) return "training_hyperparams.loss_spike";
  return "";
}

// Null if the plugin has none.
StepUpdate* UpdateOf(Plugin& plugin) {
  return const_cast<StepUpdate*>(
      static_cast<const StepUpdate*>(plugin.Query(kStepUpdateInterface)));
}

// Appends what the step does to tensors; returns who cannot be part of it.
std::string CollectUpdates(HookRunner& hooks, TrainingState& state) {
  auto* const optimizer = dynamic_cast<StepUpdate*>(state.optimizer);
  if (optimizer == nullptr) return "the optimizer";
  const absl::Status status = optimizer->UpdatedTensors().status();
  if (absl::IsFailedPrecondition(status)) {
    return absl::StrCat("the optimizer: ", status.message());
  }
  state.whole_step.updates.push_back(optimizer);
  for (const RunningPlugin* plugin : hooks.PluginsAt(Hook::kAfterOptimizer)) {
    StepUpdate* const update = UpdateOf(*plugin->plugin);
    if (update == nullptr) {
      return absl::StrCat("the hook AfterOptimizer of ", plugin->id);
    }
    state.whole_step.updates.push_back(update);
  }
  return "";
}

std::string StepBlocker(HookRunner& hooks, const Hyperparams& hyperparams,
                        TrainingState& state) {
  if (!state.whole_step.loss_blocker.empty()) {
    return state.whole_step.loss_blocker;
  }
  const std::string hook =
      HookAmong({Hook::kAfterLoss, Hook::kBeforeBackward, Hook::kAfterBackward,
                 Hook::kMicroEnd, Hook::kBeforeOptimizer},
                hooks);
  if (!hook.empty()) return hook;
  const std::string key = RecipeBlocker(hyperparams, state);
  return key.empty() ? CollectUpdates(hooks, state) : key;
}

}  // namespace

void PrepareWholeStep(HookRunner& hooks, const Hyperparams& hyperparams,
                      TrainingState& state) {
  WholeStep& whole = state.whole_step;
  whole.guard = GuardOf(hyperparams.non_finite);
  whole.loss_blocker = LossBlocker(hooks, state);
  whole.updates.clear();
  whole.step_blocker = StepBlocker(hooks, hyperparams, state);
  if (!whole.step_blocker.empty()) whole.updates.clear();
}

}  // namespace slipway::loop
