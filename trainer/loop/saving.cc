#include "trainer/loop/saving.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/ending.h"
#include "trainer/loop/random.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

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
  checkpoint.rng = {CpuGeneratorState()};
  if (run.batches_done > 0) {
    for (const auto& metric : run.parts.train_metrics) {
      for (const at::Tensor& meter : metric->Meters()) {
        checkpoint.meters.push_back(meter);
      }
    }
  }
  if (run.state.micro > 0) checkpoint.grads = Gradients(*run.optimizer);
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

void AddTensors(Run& run, Checkpoint& checkpoint) {
  checkpoint.net = run.parts.model->StateDict();
  checkpoint.optimizer = run.optimizer->State();
  if (run.state.scaler != nullptr)
    checkpoint.scaler = run.state.scaler->State();
}

absl::Status Save(Run& run, const std::string& file) {
  run.state.checkpoint_path = absl::StrCat(run.options.run_dir, "/", file);
  run.state.checkpoint_tensors.clear();
  CheckpointContext context(run.state);
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kBeforeSave>(context));
  Checkpoint checkpoint;
  checkpoint.plan_hash = run.options.plan.hash;
  checkpoint.recipe_yaml = run.options.recipe.ToYaml();
  AddTensors(run, checkpoint);
  AddResults(run, checkpoint);
  AddProgress(run, checkpoint);
  SLIPWAY_RETURN_IF_ERROR(AddPlugins(run, context, checkpoint));
  const absl::Status written =
      WriteCheckpoint(checkpoint, run.state.checkpoint_path);
  if (!written.ok()) return Failed(run, "checkpoint", written);
  TellEvent(run, "checkpoint", {{"file", file}});
  return run.hooks().Run<Hook::kAfterSave>(context);
}

bool Saves(const Run& run) {
  return run.hyperparams().save_model && !run.options.run_dir.empty();
}

}  // namespace

absl::Status SaveLatest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(Save(run, run.hyperparams().ckpt_name));
  run.result.latest_checkpoint = run.hyperparams().ckpt_name;
  run.saved_step = run.state.step;
  return absl::OkStatus();
}

absl::Status SaveBest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(Save(run, run.hyperparams().ckpt_best_name));
  run.result.best_checkpoint = run.hyperparams().ckpt_best_name;
  return absl::OkStatus();
}

absl::Status SaveAfterEpoch(Run& run, bool is_best) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(SaveLatest(run));
  if (is_best) SLIPWAY_RETURN_IF_ERROR(SaveBest(run));
  if (!run.hyperparams().SavesEpoch(run.finished_epochs - 1)) {
    return absl::OkStatus();
  }
  return Save(run, absl::StrCat("ckpt_epoch_", run.finished_epochs, ".pth"));
}

}  // namespace slipway::loop
