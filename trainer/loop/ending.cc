#include "trainer/loop/ending.h"

#include <string.h>
#include <sys/resource.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/loop/available_memory.h"
#include "trainer/loop/device.h"
#include "trainer/loop/out_of_memory.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/saving.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

std::string Place(const Run& run) {
  return absl::StrCat("epoch ", run.state.epoch, ", batch ",
                      run.state.batch_index, ", step ", run.state.step);
}

void EndWell(Run& run) {
  RunResult& result = run.result;
  const int signal = run.decisions->signal();
  if (signal != 0) {
    result.exit_reason = ExitReason::kSignal;
    result.exit_code = 128 + signal;
    TellEvent(run, "signal", {{"signal", signal}, {"name", strsignal(signal)}});
  } else if (run.decisions->stops()) {
    result.exit_reason = ExitReason::kEarlyStop;
  }
}

int64_t PeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

MemoryFacts FactsOf(const Run& run) {
  const recipe::Node* mixed =
      run.options.recipe.FindPath("training_hyperparams.mixed_precision");
  const std::optional<int64_t> on_device = PeakDeviceMemory(run.state.device);
  return {.batch_size = run.parts.train_loader->options().batch_size,
          .batch_accumulate = run.hyperparams().batch_accumulate,
          .mixed_precision =
              mixed != nullptr && mixed->is_bool() && mixed->AsBool(),
          .on_device = on_device.has_value(),
          .peak = on_device.value_or(PeakMemory()),
          .available = on_device ? 0 : AvailableMemory()};
}

// The others are gone, or have said why they go.
void EndWithoutPeers(Run& run) {
  const std::vector<int> lost = run.group().lost_ranks();
  const std::string detail(run.group().failure().message());
  Problem problem;
  problem.kind = "peer";
  problem.message = absl::StrCat(
      lost.empty()
          ? "another rank has left"
          : absl::StrCat(lost.size() == 1 ? "lost rank " : "lost ranks ",
                         absl::StrJoin(lost, ", ")),
      " in ", Place(run));
  problem.detail = detail;
  problem.hint =
      "what ended it is in its own messages; resume=true goes on from "
      "the latest checkpoint";
  problem.step = run.state.step;
  problem.rank = run.state.rank;
  run.result.exit_code = 1;
  run.result.exit_reason = ExitReason::kPeerLost;
  run.result.error = std::move(problem);
  TellEvent(run, "peer_lost", {{"ranks", lost}, {"message", detail}});
}

// The other ranks hear at once why they will wait in vain.
void LeaveOthers(Run& run, const absl::Status& status) {
  const std::optional<Problem>& known =
      run.hooks().failure() ? run.hooks().failure() : run.failure;
  const std::string why =
      known ? absl::StrCat(known->message, ": ", known->detail)
            : absl::StrCat(Place(run), ": ", status.message());
  run.group().Leave(absl::Status(status.code(), why));
}

void EndBadly(Run& run, const absl::Status& status) {
  RunResult& result = run.result;
  result.exit_code = 1;
  if (result.exit_reason == ExitReason::kDone) {
    result.exit_reason = ExitReason::kError;
  }
  // Whatever nobody explained was thrown by a tensor operation.
  if (!run.hooks().failure()) Failed(run, "value", status).IgnoreError();
  result.error = run.hooks().failure() ? run.hooks().failure() : run.failure;
  if (IsOutOfMemory(status)) {
    if (!run.hooks().failure()) {
      result.error->message = absl::StrCat("memory ran out in ", Place(run));
    }
    ExplainOutOfMemory(status, FactsOf(run), *result.error);
  }
}

void Fill(Run& run, double seconds) {
  RunResult& result = run.result;
  result.recipe = run.options.recipe_name;
  result.run_dir = run.options.run_dir;
  result.plan_hash = run.options.plan.hash;
  result.tainted = run.options.plan.tainted;
  result.world_size = run.state.world_size;
  result.device = DeviceName(run.state.device);
  result.epochs = run.finished_epochs;
  result.steps = run.state.step;
  result.seconds = seconds;
  result.peak_rss_bytes = PeakMemory();
  result.peak_device_bytes = PeakDeviceMemory(run.state.device);
  result.train_metrics = run.train_metrics;
  result.valid_metrics = run.valid_metrics;
  result.best = run.watched.best();
  result.phase_seconds = run.timer->AllSeconds();
  for (const auto& [name, section] : run.state.results) {
    result.sections[name] = section.ToJson();
  }
}

void AddPlugins(Run& run) {
  for (const RunningPlugin& plugin : run.hooks().plugins()) {
    PluginSeconds& entry = run.result.plugins.emplace_back();
    entry.id = plugin.id;
    const plan::PlannedPlugin* planned = run.options.plan.Find(plugin.id);
    if (planned != nullptr) entry.version = ToString(planned->version);
    for (const HookRunner::Time& time : run.hooks().Times()) {
      if (time.plugin != plugin.id) continue;
      entry.seconds += time.seconds;
      entry.hooks.emplace_back(ToString(time.hook), time.seconds);
    }
  }
}

}  // namespace

absl::Status Failed(Run& run, std::string kind, const absl::Status& status,
                    std::string hint) {
  if (run.failure) return status;
  Problem problem;
  problem.kind = std::move(kind);
  problem.message = absl::StrCat("the training failed in ", Place(run));
  problem.detail = std::string(status.message());
  problem.hint = std::move(hint);
  problem.step = run.state.step;
  problem.rank = run.state.rank;
  run.failure = std::move(problem);
  return status;
}

void EndRun(Run& run, const absl::Status& status, double seconds) {
  if (status.ok()) {
    EndWell(run);
  } else if (!run.group().failure().ok()) {
    FinishSavesOfFailed(run);
    EndWithoutPeers(run);
  } else {
    LeaveOthers(run, status);
    FinishSavesOfFailed(run);
    EndBadly(run, status);
  }
  Context context(run.state);
  if (!status.ok()) run.hooks().OnFailure(context, status);
  run.hooks().Close(context);
  Fill(run, seconds);
  AddPlugins(run);
  EndReport end;
  end.result = ToJson(run.result);
  end.error = run.result.error;
  run.reporters.OnEnd(end);
}

}  // namespace slipway::loop
