// Calls the hooks of a run's plugins, in the plan's order, behind a wall.
//
//   HookRunner hooks(std::move(plugins), plan.order);
//   ForwardContext context(state);
//   absl::Status status = hooks.Run<Hook::kBeforeForward>(context);
//   ...
//   hooks.Close(context);
//
// A hook that returns an error or throws comes back as a Status that names
// plugin, hook, step and rank, or, by the plugin's `on_error`, is reported once
// while the run goes on. No exception gets through. One thread's.
//
// A call costs a virtual call and little more: per hook there is a flat list of
// objects. With timing on, the clock is read once a call (and once a hook), and
// profilers see a range for each call, "ema AfterOptimizer".
#ifndef SLIPWAY_TRAINER_PLUGIN_HOOK_RUNNER_H_
#define SLIPWAY_TRAINER_PLUGIN_HOOK_RUNNER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/exception.h"
#include "trainer/plugin/hook.h"
#include "trainer/plugin/plugin.h"
#include "trainer/plugin/profiler_range.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// Gives an object back to the library that made it.
struct PluginDeleter {
  void (*destroy)(void* plugin) = &DestroyPlugin;
  void operator()(Plugin* plugin) const { destroy(plugin); }
};
using PluginPointer = std::unique_ptr<Plugin, PluginDeleter>;

// A plugin that takes part in a run.
struct RunningPlugin {
  std::string id = {};
  PluginPointer plugin = nullptr;
  plan::OnError on_error = plan::OnError::kFail;
  // Of its checkpoint state, as the manifest declares it.
  int state_version = 1;
  // A checkpoint without such state cannot be loaded.
  bool state_required = false;
  // What in the recipe brought it in.
  Mark where = {};
};

class HookRunner {
 public:
  // Per hook, the ids in calling order: a plan's.
  using Order = std::map<std::string, std::vector<std::string>>;

  // A plugin is called at the hooks under which `order` lists it, and at
  // OnFailure and Close. Names in `order` that are unknown are left out.
  HookRunner(std::vector<RunningPlugin> plugins, const Order& order);
  // Closes what is not closed.
  ~HookRunner();
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  // Adds a hook object that has no manifest (one of a recipe's
  // phase_callbacks): it is called at every hook, after all others; in closing
  // hooks before them. The second one of an id becomes "<id>#2", so that
  // checkpoints tell them apart.
  void AddCallback(RunningPlugin callback);

  // Calls `hook` of every plugin that declares it. The first error under
  // `on_error: fail` ends it and is returned; failure() tells more.
  template <Hook hook, typename ContextType>
  absl::Status Run(ContextType& context);

  // True if any plugin declares `hook`: what only a hook would see need not be
  // computed otherwise.
  bool Has(Hook hook) const { return !calls(hook).empty(); }
  // Those that declare it, in calling order.
  std::vector<const RunningPlugin*> PluginsAt(Hook hook) const;

  // Tells every plugin that is not disabled, last first, that the run failed.
  // What goes wrong in it is reported as a warning.
  void OnFailure(Context& context, const absl::Status& status);
  // Closes every plugin, disabled ones too, last first. Once: further calls do
  // nothing. What goes wrong in it is reported as a warning.
  void Close(Context& context);

  // What checkpoints keep of each plugin, by id, in load order. A plugin
  // without state is left out.
  struct SavedState {
    std::string id;
    int version = 1;
    PluginState state = {};
  };
  absl::StatusOr<std::vector<SavedState>> SaveStates(Context& context);
  // OK, too, if `on_error` lets the run go on. NOT_FOUND if no plugin has this
  // id.
  absl::Status LoadState(const SavedState& saved, Context& context);

  // The plugin's object; null if there is none of this id.
  Plugin* Find(std::string_view id);
  const std::vector<RunningPlugin>& plugins() const { return plugins_; }

  // The last error that Run, SaveStates or LoadState returned.
  const std::optional<Problem>& failure() const { return failure_; }

  // Accounts of the time spent in hooks; off at first.
  void set_timing(bool on) { timing_ = on; }
  struct Time {
    std::string plugin;
    Hook hook = Hook::kConfigure;
    int64_t calls = 0;
    double seconds = 0;
  };
  // What was called at least once while timing was on, in load order.
  std::vector<Time> Times() const;
  // Of all of them together.
  std::chrono::steady_clock::duration total_time() const { return total_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Call {
    Plugin* object;
    size_t plugin;  // position in plugins_
  };
  struct Sum {
    int64_t calls = 0;
    Clock::duration time = {};
  };

  template <Hook hook, typename ContextType>
  ABSL_ATTRIBUTE_ALWAYS_INLINE static absl::Status CallHook(
      Plugin& plugin, ContextType& context);
  template <Hook hook, typename ContextType>
  absl::Status RunTimed(ContextType& context);

  const std::vector<Call>& calls(Hook hook) const {
    return calls_[static_cast<size_t>(hook)];
  }
  Sum& sum(size_t plugin, Hook hook) {
    return sums_[plugin * kHookCount + static_cast<size_t>(hook)];
  }
  std::string RangeName(const Call& call, Hook hook) const;

  // Applies on_error. OK if the run goes on.
  absl::Status Failed(size_t plugin, std::string_view hook,
                      const absl::Status& status, Context& context);
  void Disable(size_t plugin);
  void Warn(size_t plugin, const std::string& hook, const absl::Status& status,
            std::string hint, Context& context);
  std::optional<size_t> Position(std::string_view id) const;
  void CloseAll(Context* context);

  std::vector<RunningPlugin> plugins_;
  std::array<std::vector<Call>, kHookCount> calls_;
  // Takes the place of disabled plugins in calls_.
  Plugin idle_;
  std::vector<bool> disabled_;
  // Plugin and hook of the failures that were reported.
  std::vector<std::pair<size_t, std::string>> warned_;
  std::vector<Sum> sums_;
  Clock::duration total_ = {};
  bool timing_ = false;
  bool closed_ = false;
  std::optional<Problem> failure_;
};

// --- implementation ----------------------------------------------------------

template <Hook hook, typename ContextType>
inline absl::Status HookRunner::CallHook(Plugin& plugin, ContextType& context) {
  return Guarded([&] { return (plugin.*kHookMethod<hook>)(context); });
}

template <Hook hook, typename ContextType>
absl::Status HookRunner::Run(ContextType& context) {
  if (ABSL_PREDICT_FALSE(timing_)) return RunTimed<hook>(context);
  for (const Call& call : calls(hook)) {
    absl::Status status = CallHook<hook>(*call.object, context);
    if (ABSL_PREDICT_TRUE(status.ok())) continue;
    status = Failed(call.plugin, ToString(hook), status, context);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

template <Hook hook, typename ContextType>
absl::Status HookRunner::RunTimed(ContextType& context) {
  if (!Has(hook)) return absl::OkStatus();
  const bool listened = ProfilerListens();
  Clock::time_point last = Clock::now();
  for (const Call& call : calls(hook)) {
    absl::Status status;
    {
      std::optional<ProfilerRange> range;
      if (ABSL_PREDICT_FALSE(listened)) range.emplace(RangeName(call, hook));
      status = CallHook<hook>(*call.object, context);
    }
    const Clock::time_point now = Clock::now();
    const Clock::duration spent = now - std::exchange(last, now);
    Sum& total = sum(call.plugin, hook);
    ++total.calls;
    total.time += spent;
    total_ += spent;
    if (ABSL_PREDICT_TRUE(status.ok())) continue;
    status = Failed(call.plugin, ToString(hook), status, context);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_HOOK_RUNNER_H_
