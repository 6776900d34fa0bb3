#include "trainer/loop/setup.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/loop/parameter_groups.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/whole_step.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

int64_t TotalSteps(const Hyperparams& h, int64_t batches) {
  const int64_t accumulate = h.batch_accumulate;
  if (h.accumulate == Accumulate::kSum) {
    return batches * h.max_epochs / accumulate;
  }
  return (batches + accumulate - 1) / accumulate * h.max_epochs;
}

void FillState(Run& run) {
  TrainingState& state = run.state;
  const Hyperparams& h = run.hyperparams();
  const int64_t batches = run.parts.train_loader->size();
  const dist::Environment& here = run.group().environment();
  state.rank = here.rank;
  state.local_rank = here.local_rank;
  state.world_size = here.world_size;
  state.device = run.options.device;
  state.run_dir = run.options.run_dir;
  state.recipe = run.options.recipe;
  state.seed = h.seed;
  state.supergradients_compat = h.supergradients_compat;
  state.max_epochs = h.max_epochs;
  state.batches_per_epoch =
      std::min(h.max_train_batches.value_or(batches), batches);
  state.accumulate = h.batch_accumulate;
  state.total_steps = TotalSteps(h, state.batches_per_epoch);
  state.steps_per_epoch =
      std::max<int64_t>(1, state.total_steps / h.max_epochs);
  state.model = run.parts.model.get();
  state.loss_function = run.parts.loss.get();
  state.train_loader = run.parts.train_loader.get();
}

void MoveToDevice(Run& run) {
  const at::Device device = run.options.device;
  run.parts.model->To(device);
  for (auto& [name, model] : run.state.extra_models) model->To(device);
  if (device.is_cpu() || run.parts.loss == nullptr) return;
  for (auto& [name, tensor] : run.parts.loss->State()) {
    tensor.set_data(tensor.to(device));
  }
}

absl::Status PrepareModel(Run& run) {
  ConfigureContext configure(run.state);
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kConfigure>(configure));
  ModelContext model(run.state);
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kCreateModel>(model));
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kTransformModel>(model));
  MoveToDevice(run);
  return absl::OkStatus();
}

absl::Status PrepareOptimizer(Run& run, Problems& problems) {
  run.state.groups = BuildParameterGroups(
      *run.parts.model, run.options.recipe,
      run.hyperparams().zero_weight_decay_on_bias_and_bn, problems);
  OptimizerContext context(run.state);
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kBuildOptimizer>(context));
  if (HasErrors(problems)) return absl::OkStatus();
  run.optimizer = run.parts.make_optimizer(run.state.groups, problems);
  // What it refers to need not live on.
  run.parts.make_optimizer = nullptr;
  run.state.optimizer = run.optimizer.get();
  return absl::OkStatus();
}

void PlanLearningRates(Run& run, Problems& problems) {
  const Hyperparams& h = run.hyperparams();
  std::vector<LrGroup> groups;
  for (const ParameterGroup& group : run.state.groups) {
    groups.push_back({group.name, group.initial_lr});
  }
  run.lr_plan = std::make_unique<LrPlan>(
      LrPlanOptions{.max_epochs = h.max_epochs,
                    .batches_per_epoch = run.state.batches_per_epoch,
                    .accumulate = h.batch_accumulate,
                    .carry_over = h.accumulate == Accumulate::kSum,
                    .cooldown_epochs = h.lr_cooldown_epochs,
                    .compat = h.supergradients_compat},
      run.parts.schedule.get(), run.state.warmup.get(), std::move(groups));
  const Problems found = run.lr_plan->Check();
  problems.insert(problems.end(), found.begin(), found.end());
}

// What validation measures, before it has: the loss, then the metrics.
NamedValues Measured(Run& run) {
  NamedValues values;
  if (run.parts.loss != nullptr) values.emplace_back(run.parts.loss_name, 0);
  for (const auto& metric : run.parts.valid_metrics) metric->Reset();
  for (auto& value : ComputeMetrics(run.parts.valid_metrics)) {
    values.push_back(std::move(value));
  }
  return values;
}

Problem CannotWatch(const Hyperparams& h, const NamedValues& measured) {
  std::vector<std::string> names;
  for (const auto& [name, value] : measured) names.push_back(name);
  Problem problem;
  problem.kind = "not_found";
  problem.message = absl::StrCat("metric_to_watch: nothing is called \"",
                                 h.metric_to_watch, "\"");
  problem.detail =
      absl::StrCat("measured in validation: ", absl::StrJoin(names, ", "));
  problem.where = {h.metric_to_watch_mark};
  problem.hint = DidYouMean(h.metric_to_watch, names);
  return problem;
}

// What the recipe names; parts of a loss are known only once it has run.
void ChooseWatched(Run& run, Problems& problems) {
  if (run.parts.valid_loader == nullptr) return;
  const Hyperparams& h = run.hyperparams();
  const std::string wanted =
      h.metric_to_watch.empty() ? "Accuracy" : h.metric_to_watch;
  const NamedValues measured = Measured(run);
  const auto* found = FindMetric(measured, wanted);
  const bool is_part =
      absl::StartsWith(ComponentKey(wanted), ComponentKey(run.parts.loss_name));
  if (found != nullptr || is_part) {
    run.watched = WatchedMetric(found != nullptr ? found->first : wanted,
                                h.greater_metric_to_watch_is_better);
  } else if (h.metric_to_watch.empty()) {
    run.watched = WatchedMetric(run.parts.loss_name, false);
  } else {
    problems.push_back(CannotWatch(h, measured));
  }
}

bool HasBatches(const char* what, const data::Loader& loader,
                Problems& problems) {
  if (loader.size() > 0) return true;
  Problem problem;
  problem.kind = "data";
  problem.message = absl::StrCat("the ", what, " loader has no batch");
  problem.detail =
      absl::StrCat(loader.dataset().size(), " samples make no batch of ",
                   loader.options().batch_size);
  problem.hint = "make batch_size smaller, or set drop_last to False";
  problems.push_back(std::move(problem));
  return false;
}

bool HaveBatches(const Run& run, Problems& problems) {
  const bool train = HasBatches("training", *run.parts.train_loader, problems);
  const data::Loader* valid = run.parts.valid_loader.get();
  const bool validates =
      valid == nullptr || HasBatches("validation", *valid, problems);
  return train && validates;
}

// Whether the loader has this rank's share of the samples.
bool IsShared(const char* what, const data::Loader* loader, Run& run,
              Problems& problems) {
  if (loader == nullptr) return true;
  const dist::ProcessGroup& group = run.group();
  const data::LoaderOptions& options = loader->options();
  if (options.rank == group.rank() &&
      options.world_size == group.world_size()) {
    return true;
  }
  Problem problem;
  problem.kind = "data";
  problem.message =
      absl::StrCat("the ", what, " loader has the share of rank ", options.rank,
                   " of ", options.world_size, ", and this is rank ",
                   group.rank(), " of ", group.world_size());
  problem.hint = "set rank and world_size of its LoaderOptions to the group's";
  problems.push_back(std::move(problem));
  return false;
}

bool AreShared(Run& run, Problems& problems) {
  const bool train =
      IsShared("training", run.parts.train_loader.get(), run, problems);
  const bool valid =
      IsShared("validation", run.parts.valid_loader.get(), run, problems);
  return train && valid;
}

// Stops where an error makes the next part meaningless.
absl::Status SetUpAll(Run& run, Problems& problems) {
  if (!HaveBatches(run, problems) || !AreShared(run, problems)) {
    return absl::OkStatus();
  }
  FillState(run);
  SLIPWAY_RETURN_IF_ERROR(PrepareModel(run));
  ChooseWatched(run, problems);
  SLIPWAY_RETURN_IF_ERROR(PrepareOptimizer(run, problems));
  if (run.optimizer == nullptr) return absl::OkStatus();
  PlanLearningRates(run, problems);
  run.train_loss = LossMeter(run.parts.loss_name);
  run.stepper =
      std::make_unique<Stepper>(run.state, run.hooks(), run.parts.loss.get(),
                                run.hyperparams(), *run.lr_plan);
  if (run.hyperparams().loss_spike) {
    run.spikes.emplace(*run.hyperparams().loss_spike);
  }
  PrepareWholeStep(run.hooks(), run.hyperparams(), run.state);
  WrapContext wrap(run.state);
  return run.hooks().Run<Hook::kWrapForward>(wrap);
}

Problem SetupProblem(Run& run, const absl::Status& status) {
  if (run.hooks().failure()) return *run.hooks().failure();
  Problem problem;
  problem.kind = "value";
  problem.message = "the training could not be set up";
  problem.detail = std::string(status.message());
  return problem;
}

}  // namespace

bool SetUp(Run& run, Problems& problems) {
  Problems found;
  run.state.report = [&found](Problem problem) {
    found.push_back(std::move(problem));
  };
  const absl::Status status = Guarded([&] { return SetUpAll(run, found); });
  if (!status.ok()) found.push_back(SetupProblem(run, status));
  run.state.report = nullptr;
  problems.insert(problems.end(), found.begin(), found.end());
  if (!HasErrors(found)) return true;
  Context context(run.state);
  run.hooks().OnFailure(context, status.ok() ? ToStatus(found) : status);
  run.hooks().Close(context);
  return false;
}

}  // namespace slipway::loop
