#include "trainer/loop/hyperparams.h"

#include <algorithm>

#include "trainer/recipe/params.h"

namespace slipway::loop {
namespace {

using recipe::Params;

std::optional<int64_t> OptionalCount(Params& params, std::string_view key) {
  if (!params.Has(key)) return std::nullopt;
  return params.Int(key, {.fallback = 1, .min = 1});
}

// SuperGradients takes 0 for "no clipping".
std::optional<double> ClipNorm(Params& params) {
  if (!params.Has("clip_grad_norm")) return std::nullopt;
  const double norm =
      params.Double("clip_grad_norm", {.fallback = 0, .min = 0});
  return norm > 0 ? std::optional<double>(norm) : std::nullopt;
}

Accumulate ReadAccumulate(Params& params, bool supergradients_compat) {
  const std::string text = params.Text(
      "accumulate", supergradients_compat ? "sum" : "mean", {"mean", "sum"});
  return text == "sum" ? Accumulate::kSum : Accumulate::kMean;
}

NonFinite ReadNonFinite(Params& params) {
  const std::string text = params.Text(
      "non_finite", "stop", {"stop", "skip", "rollback", "continue"});
  if (text == "skip") return NonFinite::kSkip;
  if (text == "rollback") return NonFinite::kRollback;
  return text == "continue" ? NonFinite::kContinue : NonFinite::kStop;
}

SyncBuffers ReadSyncBuffers(Params& params) {
  const std::string text =
      params.Text("sync_buffers", "broadcast", {"broadcast", "reduce"});
  return text == "reduce" ? SyncBuffers::kReduce : SyncBuffers::kBroadcast;
}

std::optional<LossSpikeRule> ReadLossSpike(Params& params, Problems& problems) {
  if (!params.Has("loss_spike")) return std::nullopt;
  Params spike(*params.Raw("loss_spike"), "training_hyperparams.loss_spike",
               problems);
  LossSpikeRule rule;
  rule.deviations =
      spike.Double("deviations", {.fallback = rule.deviations, .min = 1});
  rule.window = spike.Int("window", {.fallback = rule.window, .min = 5});
  spike.Finish();
  return rule;
}

void ReadSteps(Params& params, Hyperparams& h) {
  h.max_epochs = params.Int("max_epochs", {.min = 1});
  h.batch_accumulate =
      params.Int("batch_accumulate", {.fallback = 1, .min = 1});
  h.non_finite = ReadNonFinite(params);
  h.sync_buffers = ReadSyncBuffers(params);
  h.supergradients_compat =
      params.Text("compat", "none", {"none", "supergradients"}) != "none";
  h.accumulate = ReadAccumulate(params, h.supergradients_compat);
  h.log_every = params.Int("log_every", {.fallback = 10, .min = 1});
  h.state_hash_every = OptionalCount(params, "state_hash_every");
  h.lr_cooldown_epochs =
      params.Int("lr_cooldown_epochs", {.fallback = 0, .min = 0});
  h.clip_grad_norm = ClipNorm(params);
  h.max_train_batches = OptionalCount(params, "max_train_batches");
  h.max_valid_batches = OptionalCount(params, "max_valid_batches");
}

void ReadEvaluation(Params& params, Hyperparams& h) {
  h.run_validation_freq =
      params.Int("run_validation_freq", {.fallback = 1, .min = 1});
  h.save_ckpt_epoch_list =
      params.Ints("save_ckpt_epoch_list", 0, std::vector<int64_t>{});
  h.save_model = params.Bool("save_model", true);
  h.average_best_models = params.Bool("average_best_models", true);
  h.ckpt_name = params.Text("ckpt_name", "ckpt_latest.pth");
  h.ckpt_best_name = params.Text("ckpt_best_name", "ckpt_best.pth");
  h.metric_to_watch = params.Text("metric_to_watch", "");
  const recipe::Node* watched = params.Raw("metric_to_watch");
  if (watched != nullptr) h.metric_to_watch_mark = watched->mark();
  h.greater_metric_to_watch_is_better =
      params.Bool("greater_metric_to_watch_is_better", true);
}

}  // namespace

bool Hyperparams::ValidatesAfter(int64_t epoch) const {
  return (epoch + 1) % run_validation_freq == 0 || epoch + 1 == max_epochs ||
         SavesEpoch(epoch);
}

bool Hyperparams::SavesEpoch(int64_t epoch) const {
  return std::find(save_ckpt_epoch_list.begin(), save_ckpt_epoch_list.end(),
                   epoch + 1) != save_ckpt_epoch_list.end();
}

Hyperparams ReadHyperparams(const recipe::Node& recipe, Problems& problems) {
  static const recipe::Node kNone;
  const recipe::Node* section = recipe.FindPath("training_hyperparams");
  Params params(section != nullptr ? *section : kNone, "training_hyperparams",
                problems);
  Hyperparams h;
  ReadSteps(params, h);
  h.loss_spike = ReadLossSpike(params, problems);
  ReadEvaluation(params, h);
  h.zero_weight_decay_on_bias_and_bn =
      params.Bool("zero_weight_decay_on_bias_and_bn", false);
  h.seed =
      static_cast<uint64_t>(params.Int("seed", {.fallback = 42, .min = 0}));
  h.silent_mode = params.Bool("silent_mode", false);
  return h;
}

}  // namespace slipway::loop
