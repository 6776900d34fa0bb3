// What it costs to call hooks: 24 hooks of 5 plugins, which do nothing.
#include <iostream>
#include <utility>

#include "tests/perf/harness.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/training_state.h"

namespace slipway {
namespace {

constexpr int kPlugins = 5;
constexpr size_t kFirst = static_cast<size_t>(Hook::kFitBegin);
constexpr size_t kLast = static_cast<size_t>(Hook::kFitEnd);
using Hooks = std::make_index_sequence<kLast - kFirst + 1>;
static_assert(Hooks::size() == 24);

std::vector<RunningPlugin> MakePlugins() {
  std::vector<RunningPlugin> plugins;
  for (int i = 0; i < kPlugins; ++i) {
    RunningPlugin plugin;
    plugin.id = std::to_string(i);
    plugin.plugin.reset(new Plugin);
    plugins.push_back(std::move(plugin));
  }
  return plugins;
}

HookRunner::Order AllHooksOfAll(const std::vector<RunningPlugin>& plugins) {
  HookRunner::Order order;
  for (int i = 0; i < kHookCount; ++i) {
    std::vector<std::string>& ids =
        order[std::string(ToString(static_cast<Hook>(i)))];
    for (const RunningPlugin& plugin : plugins) ids.push_back(plugin.id);
  }
  return order;
}

template <Hook hook, typename C>
bool RunOne(HookRunner& hooks, TrainingState& state,
            absl::Status (Plugin::*)(C&)) {
  C context(state);
  return hooks.Run<hook>(context).ok();
}

template <size_t... i>
bool RunAll(HookRunner& hooks, TrainingState& state,
            std::index_sequence<i...>) {
  return (RunOne<static_cast<Hook>(kFirst + i)>(
              hooks, state, kHookMethod<static_cast<Hook>(kFirst + i)>) &&
          ...);
}

// CPU seconds for all hooks of all plugins, once.
double Dispatch(HookRunner& hooks, TrainingState& state) {
  constexpr int kRepeats = 20000;
  bool ok = true;
  const double seconds = perf::CpuTimeOf([&] {
    for (int i = 0; i < kRepeats; ++i) ok = ok && RunAll(hooks, state, Hooks());
  });
  if (!ok) std::abort();
  return seconds / kRepeats;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  using namespace slipway;  // NOLINT: the program's own
  perf::Benchmark benchmark("hooks", "CPU seconds for 24 hooks of 5 plugins");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  std::vector<RunningPlugin> plugins = MakePlugins();
  const HookRunner::Order order = AllHooksOfAll(plugins);
  HookRunner hooks(std::move(plugins), order);
  TrainingState state;
  const perf::Measure dispatch = [&] { return Dispatch(hooks, state); };
  benchmark.Compare({"untimed", "0.5 us", dispatch, perf::Constant(0.5e-6), 1});
  hooks.set_timing(true);
  benchmark.Compare({"timed", "5 us", dispatch, perf::Constant(5e-6), 1});
  return benchmark.Finish(std::cout);
}
