#include "trainer/loop/capturing.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "trainer/loop/random.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

MeanState ToMean(LossMeter::State state) {
  return {.samples = state.samples, .sums = std::move(state.sums)};
}

std::vector<nn::NamedTensor> Gradients(const Optimizer& optimizer) {
  std::vector<nn::NamedTensor> gradients;
  for (const ParameterGroup& group : optimizer.groups()) {
    for (const auto& [name, parameter] : group.parameters) {
      if (parameter.grad().defined()) {
        gradients.emplace_back(name, parameter.grad());
      }
    }
  }
  return gradients;
}

SamplerState Sampler(const Run& run) {
  const data::LoaderOptions& loader = run.parts.train_loader->options();
  return {
      .seed = loader.seed,
      .epoch = run.finished_epochs,
      .samples_done = run.batches_done * loader.batch_size * loader.world_size};
}

void AddTensors(Run& run, Checkpoint& checkpoint) {
  checkpoint.net = run.parts.model->StateDict();
  checkpoint.optimizer = run.optimizer->State();
  if (run.state.scaler != nullptr) {
    checkpoint.scaler = run.state.scaler->State();
  }
  if (run.parts.loss != nullptr) checkpoint.loss = run.parts.loss->State();
  if (run.state.micro > 0) checkpoint.grads = Gradients(*run.optimizer);
}

void AddResults(const Run& run, Checkpoint& checkpoint) {
  const auto* watched = FindMetric(run.valid_metrics, run.watched.name());
  if (watched != nullptr) checkpoint.acc = watched->second;
  for (const auto& [name, value] : run.train_metrics) {
    checkpoint.metrics["train"][name] = value;
  }
  for (const auto& [name, value] : run.valid_metrics) {
    checkpoint.metrics["valid"][name] = value;
  }
  const std::optional<BestValue>& best = run.watched.best();
  if (best) checkpoint.best = BestResult{best->name, best->value, best->epoch};
}

void AddProgress(Run& run, Checkpoint& checkpoint) {
  checkpoint.epoch = run.finished_epochs;
  checkpoint.step = run.state.step;
  checkpoint.world_size = run.state.world_size;
  checkpoint.sampler = Sampler(run);
  checkpoint.rng = {GeneratorState(at::kCPU)};
  if (!run.state.device.is_cpu()) {
    checkpoint.device_rng = {GeneratorState(run.state.device)};
  }
  checkpoint.schedule = NextRates(run);
  const Stepper::Progress progress = run.stepper->progress();
  LoopState& loop = checkpoint.loop;
  loop.windows = progress.windows;
  loop.samples = run.result.samples;
  loop.seconds = run.SecondsSoFar();
  loop.micro = run.state.micro;
  if (run.state.micro > 0) {
    loop.window_loss = ToMean(progress.window_loss);
    loop.skip_reason = run.state.control.skip_reason();
  }
  if (run.batches_done == 0) return;
  loop.train_loss = ToMean(run.train_loss.SaveState());
  for (const auto& metric : run.parts.train_metrics) {
    for (const at::Tensor& meter : metric->Meters()) {
      checkpoint.meters.push_back(meter);
    }
  }
}

absl::Status AddPlugins(Run& run, Context& context, Checkpoint& checkpoint) {
  auto states = run.hooks().SaveStates(context);
  if (!states.ok()) return states.status();
  for (HookRunner::SavedState& saved : *states) {
    checkpoint.plugins.emplace_back(
        saved.id, SavedPluginState{saved.version, std::move(saved.state)});
  }
  checkpoint.extra_nets = run.state.checkpoint_tensors;
  return absl::OkStatus();
}

}  // namespace

// Groups that differ in weight decay alone share name and rate.
NamedValues NextRates(const Run& run) {
  NamedValues rates;
  const std::vector<double> next = run.lr_plan->At(run.stepper->PlanPosition());
  const std::vector<ParameterGroup>& groups = run.optimizer->groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool told = std::any_of(
        rates.begin(), rates.end(),
        [&](const auto& rate) { return rate.first == groups[i].name; });
    if (!told) rates.emplace_back(groups[i].name, next[i]);
  }
  return rates;
}

absl::StatusOr<Checkpoint> Capture(Run& run, CheckpointContext& context) {
  run.state.checkpoint_tensors.clear();
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kBeforeSave>(context));
  Checkpoint checkpoint;
  checkpoint.plan_hash = run.options.plan.hash;
  checkpoint.recipe_yaml = run.options.recipe.ToYaml();
  AddTensors(run, checkpoint);
  AddResults(run, checkpoint);
  AddProgress(run, checkpoint);
  SLIPWAY_RETURN_IF_ERROR(AddPlugins(run, context, checkpoint));
  return checkpoint;
}

}  // namespace slipway::loop
