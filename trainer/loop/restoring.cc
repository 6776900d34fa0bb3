#include "trainer/loop/restoring.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/zeros_like.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/loop/random.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/nn/state_dict.h"

namespace slipway::loop {
namespace {

LossMeter::State FromMean(const MeanState& mean) {
  return {.samples = mean.samples, .sums = mean.sums};
}

using NamedStates = std::vector<std::pair<std::string, OptimizerState>>;

class Restoration {
 public:
  Restoration(Run& run, const Checkpoint& checkpoint,
              const RestoreOptions& options)
      : run_(run), checkpoint_(checkpoint), options_(options) {}

  absl::Status Apply() {
    SLIPWAY_RETURN_IF_ERROR(FindPlace());
    TakeProgress();
    run_.state.checkpoint_path = options_.path;
    OfferExtraNets();
    CheckpointContext context(run_.state);
    SLIPWAY_RETURN_IF_ERROR(run_.hooks().Run<Hook::kBeforeLoad>(context));
    SLIPWAY_RETURN_IF_ERROR(LoadTensors());
    SLIPWAY_RETURN_IF_ERROR(LoadPlugins(context));
    return run_.hooks().Run<Hook::kAfterLoad>(context);
  }

 private:
  // --- tensors ---------------------------------------------------------------

  // To plugins, which are as strict as the whole is by default.
  void OfferExtraNets() {
    auto& offered = run_.state.checkpoint_tensors;
    offered = checkpoint_.extra_nets;
    if (options_.strict) return;
    const std::vector<nn::NamedTensor> own = run_.parts.model->StateDict();
    std::erase_if(offered, [&](const auto& net) {
      const auto fit = nn::CompareStateDicts(own, net.second);
      if (fit.exact()) return false;
      Warn(absl::StrCat("\"", net.first, "\" does not fit and is left out"),
           absl::StrCat("the model:", fit.ToString()));
      return true;
    });
  }

  absl::Status LoadTensors() {
    LoadNamed("the model", run_.parts.model->StateDict(), checkpoint_.net);
    if (run_.parts.loss != nullptr && checkpoint_.from_slipway) {
      LoadNamed("the loss", run_.parts.loss->State(), checkpoint_.loss);
    }
    if (options_.optimizer) {
      LoadOptimizer();
      LoadScaler();
    }
    LoadGradients();
    if (misfits_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Name(), " does not fit this training:\n",
                     absl::StrJoin(misfits_, "\n")));
  }

  void LoadNamed(const std::string& what,
                 const std::vector<nn::NamedTensor>& own,
                 const std::vector<nn::NamedTensor>& given) {
    const nn::StateDictFit fit = nn::CompareStateDicts(own, given);
    const std::string text = absl::StrCat(what, ":", fit.ToString());
    const bool none = fit.fitting.empty() && !own.empty();
    if (none || (options_.strict && !fit.exact())) {
      misfits_.push_back(text);
      return;
    }
    fit.CopyFitting();
    if (!fit.exact()) Warn("not all of the checkpoint fits", text);
  }

  // A parameter that had no gradient yet has no state: that is no mismatch.
  void LoadOptimizer() {
    const absl::Status whole = run_.optimizer->LoadState(checkpoint_.optimizer);
    if (whole.ok()) return TellStateless();
    if (options_.strict) {
      misfits_.push_back(absl::StrCat(
          whole.message(),
          "\n  (load_opt_params: False starts the optimizer afresh)"));
      return;
    }
    const absl::Status part = run_.optimizer->LoadState(OfKnownParameters());
    Warn("not all of the optimizer's state fits",
         absl::StrCat(whole.message(),
                      part.ok() ? "" : "; the optimizer starts afresh"));
  }

  NamedStates OfKnownParameters() const {
    const std::set<std::string> names = ParameterNames();
    NamedStates known;
    for (const auto& entry : checkpoint_.optimizer) {
      if (names.count(entry.first) > 0) known.push_back(entry);
    }
    return known;
  }

  std::set<std::string> ParameterNames() const {
    std::set<std::string> names;
    for (const ParameterGroup& group : run_.optimizer->groups()) {
      for (const auto& [name, parameter] : group.parameters) names.insert(name);
    }
    return names;
  }

  void TellStateless() {
    if (checkpoint_.optimizer.empty()) {
      // Of ours, it has an optimizer that keeps none, or no step is taken yet.
      if (checkpoint_.from_slipway) return;
      return Warn("the checkpoint has no state of the optimizer by name",
                  "PyTorch numbers it; the optimizer starts afresh");
    }
    std::set<std::string> names = ParameterNames();
    for (const auto& [name, state] : checkpoint_.optimizer) names.erase(name);
    if (names.empty()) return;
    Warn("the checkpoint has no state of the optimizer for some parameters",
         absl::StrCat("they start afresh (", names.size(),
                      "): ", absl::StrJoin(names, ", ")));
  }

  void LoadScaler() {
    if (run_.state.scaler == nullptr) {
      if (!checkpoint_.scaler.empty()) {
        Warn("the checkpoint's loss scale is of no use here",
             "no plugin of this run scales the loss");
      }
      return;
    }
    if (checkpoint_.scaler.empty()) {
      Warn("the checkpoint has no loss scale", "it starts afresh");
      return;
    }
    LoadNamed("the loss scaler", run_.state.scaler->State(),
              checkpoint_.scaler);
  }

  void LoadGradients() {
    run_.optimizer->ZeroGrad();
    std::set<std::string> given;
    for (const auto& [name, gradient] : checkpoint_.grads) given.insert(name);
    const at::NoGradGuard no_gradients;
    for (const ParameterGroup& group : run_.optimizer->groups()) {
      for (const auto& [name, parameter] : group.parameters) {
        if (given.erase(name) == 0) continue;
        const at::Tensor& gradient = FindGradient(name);
        if (gradient.sizes() == parameter.sizes()) {
          parameter.mutable_grad() =
              gradient.to(parameter.options(), /*non_blocking=*/false,
                          /*copy=*/true);
        } else {
          given.insert(name);
        }
      }
    }
    if (given.empty()) return;
    misfits_.push_back(
        absl::StrCat("gradients of the open window that fit no parameter: ",
                     absl::StrJoin(given, ", ")));
  }

  const at::Tensor& FindGradient(std::string_view name) const {
    return std::find_if(
               checkpoint_.grads.begin(), checkpoint_.grads.end(),
               [&](const auto& gradient) { return gradient.first == name; })
        ->second;
  }

  // --- plugins ---------------------------------------------------------------

  absl::Status LoadPlugins(CheckpointContext& context) {
    for (const auto& [id, saved] : checkpoint_.plugins) {
      const RunningPlugin* plugin = FindPlugin(id);
      if (plugin == nullptr) {
        Warn("a plugin's state is of no use here",
             absl::StrCat("the checkpoint has state of \"", id,
                          "\", which this run does not use"));
        continue;
      }
      if (saved.version > plugin->state_version) {
        return absl::InvalidArgumentError(absl::StrCat(
            Name(), ": the state of plugin \"", id, "\" has version ",
            saved.version, ", the plugin here reads up to ",
            plugin->state_version));
      }
      SLIPWAY_RETURN_IF_ERROR(run_.hooks().LoadState(
          {.id = id, .version = saved.version, .state = saved.state}, context));
    }
    return CheckRequiredStates();
  }

  absl::Status CheckRequiredStates() const {
    for (const RunningPlugin& plugin : run_.hooks().plugins()) {
      const auto found = std::find_if(
          checkpoint_.plugins.begin(), checkpoint_.plugins.end(),
          [&](const auto& saved) { return saved.first == plugin.id; });
      if (!plugin.state_required || found != checkpoint_.plugins.end()) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(Name(), " has no state of plugin \"", plugin.id,
                       "\", which its manifest requires"));
    }
    return absl::OkStatus();
  }

  const RunningPlugin* FindPlugin(std::string_view id) const {
    for (const RunningPlugin& plugin : run_.hooks().plugins()) {
      if (plugin.id == id) return &plugin;
    }
    return nullptr;
  }

  // --- progress --------------------------------------------------------------

  // Where in its epoch the checkpoint stands, in batches of this run.
  absl::Status FindPlace() {
    const data::LoaderOptions& loader = run_.parts.train_loader->options();
    const int64_t samples = checkpoint_.sampler.samples_done;
    const int64_t batch = loader.batch_size * loader.world_size;
    batches_done_ = samples / batch;
    if (samples % batch != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          Name(), " stands after ", samples, " samples of epoch ",
          checkpoint_.epoch, ", where no batch of ", BatchText(),
          " begins; keep the batch size over all ranks until the end of this "
          "epoch"));
    }
    if (batches_done_ > run_.state.batches_per_epoch) {
      return absl::InvalidArgumentError(absl::StrCat(
          Name(), " stands after batch ", batches_done_, " of epoch ",
          checkpoint_.epoch, ", which has ", run_.state.batches_per_epoch,
          " here; the data or the batch size changed"));
    }
    if (samples > 0 && checkpoint_.sampler.seed != loader.seed) {
      Warn("the rest of this epoch has another order",
           absl::StrCat("the checkpoint's seed is ", checkpoint_.sampler.seed,
                        ", this run's is ", loader.seed));
    }
    return absl::OkStatus();
  }

  // "64", "96 (3 ranks of 32)".
  std::string BatchText() const {
    const data::LoaderOptions& loader = run_.parts.train_loader->options();
    const int64_t batch = loader.batch_size * loader.world_size;
    if (loader.world_size == 1) return absl::StrCat(batch);
    return absl::StrCat(batch, " (", loader.world_size, " ranks of ",
                        loader.batch_size, ")");
  }

  void TakeProgress() {
    TrainingState& state = run_.state;
    const LoopState& loop = checkpoint_.loop;
    run_.finished_epochs = checkpoint_.epoch;
    run_.batches_done = batches_done_;
    state.epoch = checkpoint_.epoch;
    state.step = checkpoint_.from_slipway
                     ? checkpoint_.step
                     : checkpoint_.epoch * state.steps_per_epoch;
    state.micro = loop.micro;
    state.control.ClearStepRequests();
    if (!loop.skip_reason.empty()) state.control.SkipStep(loop.skip_reason);
    run_.stepper->set_progress(
        {.windows = checkpoint_.from_slipway ? loop.windows : state.step,
         .window_loss = FromMean(loop.window_loss)});
    if (run_.spikes) run_.spikes->set_losses(loop.recent_losses);
    run_.result.samples = loop.samples;
    TakeResults();
    TakeEpoch();
  }

  void TakeResults() {
    run_.train_metrics = Values("train");
    run_.valid_metrics = Values("valid");
    const std::optional<BestResult>& best = checkpoint_.best;
    run_.watched.set_best(std::nullopt);
    if (!best) return;
    if (best->name == run_.watched.name()) {
      run_.watched.set_best(BestValue{best->name, best->value, best->epoch});
    } else if (!run_.watched.name().empty()) {
      Warn(
          "the best value so far is forgotten",
          absl::StrCat("it is of \"", best->name, "\", and this run watches \"",
                       run_.watched.name(), "\""));
    }
  }

  NamedValues Values(const std::string& split) {
    const auto found = checkpoint_.metrics.find(split);
    if (found == checkpoint_.metrics.end()) return {};
    for (const auto& [name, value] : found->second) {
      run_.state.metrics[{split, name}] = value;
    }
    return {found->second.begin(), found->second.end()};
  }

  // What is summed over the ranks goes to rank 0, and nothing to the others.
  void TakeEpoch() {
    RestoredEpoch epoch;
    const bool first = run_.state.rank == 0;
    const auto rank = static_cast<size_t>(run_.state.rank);
    if (rank < checkpoint_.rng.size()) epoch.rng = checkpoint_.rng[rank];
    if (rank < checkpoint_.device_rng.size()) {
      epoch.device_rng = checkpoint_.device_rng[rank];
    }
    for (const at::Tensor& meter : checkpoint_.meters) {
      epoch.meters.push_back(first ? meter.clone() : at::zeros_like(meter));
    }
    epoch.train_loss = FromMean(checkpoint_.loop.train_loss);
    if (!first) {
      epoch.train_loss.samples = 0;
      for (auto& [part, sum] : epoch.train_loss.sums) sum = 0;
    }
    run_.restored = std::move(epoch);
  }

  std::string Name() const {
    return options_.path.empty() ? "the checkpoint" : options_.path;
  }

  void Warn(std::string message, std::string detail) {
    Problem problem;
    problem.kind = "checkpoint";
    problem.severity = Severity::kWarning;
    problem.message = std::move(message);
    problem.detail = std::move(detail);
    if (run_.state.report) run_.state.report(std::move(problem));
  }

  Run& run_;
  const Checkpoint& checkpoint_;
  const RestoreOptions& options_;
  int64_t batches_done_ = 0;
  std::vector<std::string> misfits_;
};

absl::Status RestoreMeters(Run& run, const std::vector<at::Tensor>& saved) {
  std::vector<at::Tensor> meters;
  for (const auto& metric : run.parts.train_metrics) {
    for (const at::Tensor& meter : metric->Meters()) meters.push_back(meter);
  }
  bool fits = meters.size() == saved.size();
  for (size_t i = 0; fits && i < meters.size(); ++i) {
    fits = meters[i].sizes() == saved[i].sizes();
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        "the checkpoint was written in the middle of an epoch with other "
        "training metrics; keep train_metrics_list until the end of this "
        "epoch");
  }
  const at::NoGradGuard no_gradients;
  for (size_t i = 0; i < meters.size(); ++i) meters[i].copy_(saved[i]);
  return absl::OkStatus();
}

}  // namespace

absl::Status Restore(Run& run, const Checkpoint& checkpoint,
                     const RestoreOptions& options) {
  return Restoration(run, checkpoint, options).Apply();
}

absl::Status RestoreEpoch(Run& run) {
  if (!run.restored) return absl::OkStatus();
  const RestoredEpoch epoch = *std::exchange(run.restored, std::nullopt);
  if (!epoch.rng.empty()) {
    SLIPWAY_RETURN_IF_ERROR(SetGeneratorState(at::kCPU, epoch.rng));
  }
  if (!epoch.device_rng.empty() && !run.state.device.is_cpu()) {
    SLIPWAY_RETURN_IF_ERROR(
        SetGeneratorState(run.state.device, epoch.device_rng));
  }
  if (run.batches_done == 0) return absl::OkStatus();
  run.train_loss.LoadState(epoch.train_loss);
  return RestoreMeters(run, epoch.meters);
}

}  // namespace slipway::loop
