#include "plugins/lr_warmup/lr_warmup.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/params.h"

namespace slipway::lr_warmup {
namespace {

using recipe::Node;
using recipe::Params;

bool IsRate(const Node& value) {
  return value.is_number() && std::isfinite(value.AsDouble()) &&
         value.AsDouble() >= 0;
}

StartRates ReadStartRates(Params& params) {
  StartRates start;
  const Node* value = params.Raw("initial_lr");
  if (value == nullptr) return start;
  if (IsRate(*value)) {
    start.all = value->AsDouble();
    return start;
  }
  bool fits = value->is_map();
  for (const Node::Entry& entry : value->entries()) {
    if (!IsRate(entry.value)) {
      fits = false;
    } else if (entry.key == "default") {
      start.all = entry.value.AsDouble();
    } else {
      start.by_group[entry.key] = entry.value.AsDouble();
    }
  }
  if (!fits) {
    params.Fail("initial_lr",
                absl::StrCat("warmup_initial_lr is ", value->ToDisplay()),
                "set a number of at least 0, or a map from parameter groups "
                "to such numbers");
  }
  return start;
}

Options ReadOptions(Params& params) {
  Options options;
  const std::string mode =
      params.Text("mode", "LinearEpochLRWarmup",
                  {"LinearEpochLRWarmup", "LinearBatchLRWarmup",
                   "linear_epoch_step", "linear_batch_step"});
  options.by_step =
      mode == "LinearBatchLRWarmup" || mode == "linear_batch_step";
  options.epochs = params.Int("epochs", {.fallback = 0, .min = 0});
  options.steps = params.Int("steps", {.fallback = 0, .min = 0});
  options.start = ReadStartRates(params);
  options.auto_lr = params.Bool("auto_lr", false);
  if (options.by_step && options.steps > 0 && !params.Has("initial_lr")) {
    params.Fail("steps", "LinearBatchLRWarmup does not know where to start",
                "set training_hyperparams.warmup_initial_lr");
  }
  return options;
}

bool HasSchedule(const Node& recipe) {
  const Node* mode = recipe.FindPath("training_hyperparams.lr_mode");
  return mode != nullptr && !mode->is_null();
}

std::unique_ptr<Warmup> MakeWarmup(const Options& options, AutoLr auto_lr) {
  if (options.by_step && options.steps > 0) {
    return LinearBatchWarmup(options.steps, options.start, auto_lr);
  }
  if (!options.by_step && options.epochs > 0) {
    return LinearEpochWarmup(options.epochs, options.start, auto_lr);
  }
  return NoWarmup(auto_lr);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> LrWarmup::Create(const Node& config) {
  Problems problems;
  Params params(config, "plugin lr_warmup", problems);
  Options options = ReadOptions(params);
  params.Finish();
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(FormatProblems(problems));
  }
  return std::make_unique<LrWarmup>(std::move(options));
}

absl::Status LrWarmup::Configure(ConfigureContext& context) {
  const AutoLr auto_lr = {
      .world_size = options_.auto_lr ? context.world_size() : 1,
      .has_schedule = HasSchedule(context.recipe())};
  context.SetWarmup(
      Awaited(MakeWarmup(options_, auto_lr), options_.epochs, options_.steps));
  return absl::OkStatus();
}

}  // namespace slipway::lr_warmup

SLIPWAY_PLUGIN("lr_warmup", "1.0.0", slipway::lr_warmup::LrWarmup);
