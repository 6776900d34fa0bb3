#include "trainer/loop/capturing.h"

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/zeros_like.h"
#include "absl/types/span.h"
#include "trainer/dist/collectives.h"
#include "trainer/loop/random.h"
#include "trainer/loop/reduce.h"
#include "trainer/loop/reports.h"
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
  if (run.spikes) loop.recent_losses = run.spikes->losses();
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

// --- of all ranks ------------------------------------------------------------

absl::Status GatherGenerators(Run& run, Checkpoint& checkpoint) {
  auto rng = dist::AllGather(run.group(), checkpoint.rng[0]);
  if (!rng.ok()) return rng.status();
  checkpoint.rng = *std::move(rng);
  if (checkpoint.device_rng.empty()) return absl::OkStatus();
  auto device_rng = dist::AllGather(run.group(), checkpoint.device_rng[0]);
  if (!device_rng.ok()) return device_rng.status();
  checkpoint.device_rng = *std::move(device_rng);
  return absl::OkStatus();
}

absl::Status SumMeters(Run& run, Checkpoint& checkpoint) {
  absl::StatusOr<LossMeter::State> loss =
      SumOverRanks(run.train_loss.SaveState(), run.group());
  if (!loss.ok()) return loss.status();
  checkpoint.loop.train_loss = ToMean(*std::move(loss));
  absl::StatusOr<std::vector<at::Tensor>> meters =
      SumOverRanks(run.parts.train_metrics, run.group());
  if (!meters.ok()) return meters.status();
  checkpoint.meters = *std::move(meters);
  return absl::OkStatus();
}

// The mean of the ranks' gradients so far; a rank that has none counts as zero.
// What no rank has stays away.
absl::Status MeanGradients(Run& run, Checkpoint& checkpoint) {
  const at::NoGradGuard no_gradients;
  std::vector<nn::NamedTensor> means;
  std::vector<at::Tensor> tensors;
  std::vector<double> used;
  for (const ParameterGroup& group : run.optimizer->groups()) {
    for (const auto& [name, parameter] : group.parameters) {
      const at::Tensor& own = parameter.grad();
      means.emplace_back(
          name, own.defined() ? own.clone() : at::zeros_like(parameter));
      tensors.push_back(means.back().second);
      used.push_back(own.defined() ? 1 : 0);
    }
  }
  SLIPWAY_RETURN_IF_ERROR(dist::AllReduce(run.group(), absl::MakeSpan(used)));
  SLIPWAY_RETURN_IF_ERROR(dist::AllReduceTensors(run.group(), tensors));
  checkpoint.grads.clear();
  for (size_t i = 0; i < means.size(); ++i) {
    if (used[i] == 0) continue;
    means[i].second.div_(run.group().world_size());
    checkpoint.grads.push_back(std::move(means[i]));
  }
  return absl::OkStatus();
}

absl::Status MeanWindow(Run& run, Checkpoint& checkpoint) {
  SLIPWAY_RETURN_IF_ERROR(MeanGradients(run, checkpoint));
  MeanState& loss = checkpoint.loop.window_loss;
  std::vector<double> sums;
  for (const auto& [part, sum] : loss.sums) sums.push_back(sum);
  SLIPWAY_RETURN_IF_ERROR(dist::AllReduce(run.group(), absl::MakeSpan(sums)));
  for (size_t i = 0; i < sums.size(); ++i) {
    loss.sums[i].second = sums[i] / run.group().world_size();
  }
  return absl::OkStatus();
}

}  // namespace

NamedValues NextRates(const Run& run) {
  return NamedRates(run, run.lr_plan->At(run.stepper->PlanPosition()));
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

absl::StatusOr<Checkpoint> CaptureAllRanks(Run& run,
                                           CheckpointContext& context) {
  absl::StatusOr<Checkpoint> own = Capture(run, context);
  if (!own.ok() || !run.group().distributed()) return own;
  SLIPWAY_RETURN_IF_ERROR(GatherGenerators(run, *own));
  if (run.batches_done > 0) SLIPWAY_RETURN_IF_ERROR(SumMeters(run, *own));
  if (run.state.micro > 0) SLIPWAY_RETURN_IF_ERROR(MeanWindow(run, *own));
  return own;
}

}  // namespace slipway::loop
