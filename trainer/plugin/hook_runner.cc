#include "trainer/plugin/hook_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway {
namespace {

// The hooks that undo what others did, in the opposite order.
bool IsClosing(Hook hook) {
  switch (hook) {
    case Hook::kMicroEnd:
    case Hook::kStepEnd:
    case Hook::kEvalEnd:
    case Hook::kEpochEnd:
    case Hook::kAfterSave:
    case Hook::kFitEnd:
    case Hook::kOnFailure:
    case Hook::kClose:
      return true;
    default:
      return false;
  }
}

Problem HookProblem(const RunningPlugin& plugin, const std::string& hook,
                    const absl::Status& status, const Context& context) {
  std::string message =
      absl::StrCat("plugin \"", plugin.id, "\" failed in ", hook, " at step ",
                   context.step(), " on rank ", context.rank());
  std::string detail(status.message());
  if (detail.empty()) detail = absl::StatusCodeToString(status.code());
  return {.kind = "hook",
          .message = std::move(message),
          .detail = std::move(detail),
          .where = {plugin.where},
          .plugins = {plugin.id},
          .hook = hook,
          .step = context.step(),
          .rank = context.rank()};
}

bool HasState(const PluginState& state) {
  return !state.values.is_null() || !state.tensors.empty();
}

}  // namespace

HookRunner::HookRunner(std::vector<RunningPlugin> plugins, const Order& order)
    : plugins_(std::move(plugins)),
      disabled_(plugins_.size()),
      sums_(plugins_.size() * kHookCount) {
  for (const auto& [name, ids] : order) {
    const std::optional<Hook> hook = FindHook(name);
    if (!hook) continue;
    for (const std::string& id : ids) {
      for (size_t i = 0; i < plugins_.size(); ++i) {
        if (plugins_[i].id != id) continue;
        calls_[static_cast<size_t>(*hook)].push_back(
            {plugins_[i].plugin.get(), i});
      }
    }
  }
}

HookRunner::~HookRunner() { CloseAll(nullptr); }

void HookRunner::AddCallback(RunningPlugin callback) {
  const std::string id = callback.id;
  for (int i = 2; Position(callback.id); ++i) {
    callback.id = absl::StrCat(id, "#", i);
  }
  const Call call = {callback.plugin.get(), plugins_.size()};
  for (int i = 0; i < kHookCount; ++i) {
    std::vector<Call>& list = calls_[i];
    list.insert(IsClosing(static_cast<Hook>(i)) ? list.begin() : list.end(),
                call);
  }
  plugins_.push_back(std::move(callback));
  disabled_.push_back(false);
  sums_.resize(plugins_.size() * kHookCount);
}

void HookRunner::OnFailure(Context& context, const absl::Status& status) {
  for (size_t i = plugins_.size(); i-- > 0;) {
    if (disabled_[i]) continue;
    const absl::Status result =
        Guarded([&] { plugins_[i].plugin->OnFailure(status); });
    if (!result.ok()) Warn(i, "OnFailure", result, "", context);
  }
}

void HookRunner::Close(Context& context) { CloseAll(&context); }

void HookRunner::CloseAll(Context* context) {
  if (std::exchange(closed_, true)) return;
  for (size_t i = plugins_.size(); i-- > 0;) {
    const absl::Status result = Guarded([&] { plugins_[i].plugin->Close(); });
    if (!result.ok() && context != nullptr) {
      Warn(i, "Close", result, "", *context);
    }
  }
}

absl::StatusOr<std::vector<HookRunner::SavedState>> HookRunner::SaveStates(
    Context& context) {
  std::vector<SavedState> states;
  for (size_t i = 0; i < plugins_.size(); ++i) {
    if (disabled_[i]) continue;
    absl::StatusOr<PluginState> state =
        Guarded([&] { return plugins_[i].plugin->SaveState(); });
    if (!state.ok()) {
      const absl::Status failed =
          Failed(i, "SaveState", state.status(), context);
      if (!failed.ok()) return failed;
    } else if (HasState(*state)) {
      states.push_back(
          {plugins_[i].id, plugins_[i].state_version, *std::move(state)});
    }
  }
  return states;
}

absl::Status HookRunner::LoadState(const SavedState& saved, Context& context) {
  const std::optional<size_t> i = Position(saved.id);
  if (!i) {
    return absl::NotFoundError(
        absl::StrCat("the checkpoint has state of plugin \"", saved.id,
                     "\", which this run does not use"));
  }
  if (disabled_[*i]) return absl::OkStatus();
  const absl::Status status = Guarded([&] {
    return plugins_[*i].plugin->LoadState(saved.version, saved.state);
  });
  return status.ok() ? status : Failed(*i, "LoadState", status, context);
}

std::vector<const RunningPlugin*> HookRunner::PluginsAt(Hook hook) const {
  std::vector<const RunningPlugin*> plugins;
  for (const Call& call : calls(hook)) {
    plugins.push_back(&plugins_[call.plugin]);
  }
  return plugins;
}

Plugin* HookRunner::Find(std::string_view id) {
  const std::optional<size_t> i = Position(id);
  return i ? plugins_[*i].plugin.get() : nullptr;
}

std::vector<HookRunner::Time> HookRunner::Times() const {
  std::vector<Time> times;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Sum& sum = sums_[i];
    if (sum.calls == 0) continue;
    times.push_back({plugins_[i / kHookCount].id,
                     static_cast<Hook>(i % kHookCount), sum.calls,
                     std::chrono::duration<double>(sum.time).count()});
  }
  return times;
}

std::string HookRunner::RangeName(const Call& call, Hook hook) const {
  return absl::StrCat(plugins_[call.plugin].id, " ",
                      std::string(ToString(hook)));
}

std::optional<size_t> HookRunner::Position(std::string_view id) const {
  for (size_t i = 0; i < plugins_.size(); ++i) {
    if (plugins_[i].id == id) return i;
  }
  return std::nullopt;
}

absl::Status HookRunner::Failed(size_t plugin, std::string_view name,
                                const absl::Status& status, Context& context) {
  const std::string hook(name);
  switch (plugins_[plugin].on_error) {
    case plan::OnError::kWarn:
      Warn(plugin, hook, status,
           "the run goes on (on_error: warn); further failures of this hook "
           "are not told",
           context);
      return absl::OkStatus();
    case plan::OnError::kDisable:
      Disable(plugin);
      Warn(plugin, hook, status,
           "the run goes on without this plugin (on_error: disable)", context);
      return absl::OkStatus();
    case plan::OnError::kFail:
      break;
  }
  failure_ = HookProblem(plugins_[plugin], hook, status, context);
  return WithPrefix(failure_->message, status);
}

void HookRunner::Disable(size_t plugin) {
  disabled_[plugin] = true;
  for (std::vector<Call>& list : calls_) {
    for (Call& call : list) {
      if (call.plugin == plugin) call.object = &idle_;
    }
  }
}

void HookRunner::Warn(size_t plugin, const std::string& hook,
                      const absl::Status& status, std::string hint,
                      Context& context) {
  const std::pair<size_t, std::string> failure(plugin, hook);
  if (std::find(warned_.begin(), warned_.end(), failure) != warned_.end()) {
    return;
  }
  warned_.push_back(failure);
  Problem problem = HookProblem(plugins_[plugin], hook, status, context);
  problem.severity = Severity::kWarning;
  problem.hint = std::move(hint);
  context.Report(std::move(problem));
}

}  // namespace slipway
