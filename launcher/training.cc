#include "launcher/training.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/launcher_note.h"
#include "trainer/plan/environment.h"
#include "trainer/recipe_request.h"

namespace slipway::launcher {
namespace {

// Flags that make the trainer answer and stop.
void CheckItTrains(const slipway::Flags& flags, Problems& problems) {
  const char* flag = flags.help                    ? "--help"
                     : !flags.print_recipe.empty() ? "--print_recipe"
                                                   : nullptr;
  if (flag == nullptr) return;
  problems.push_back({.kind = "value",
                      .message = absl::StrCat(flag, " starts no training"),
                      .where = {{.file = "command line"}},
                      .hint = absl::StrCat("ask the trainer itself: bazel run "
                                           "//trainer -- ",
                                           flag)});
}

std::optional<BatchSize> ReadBatch(const recipe::Node& recipe) {
  const recipe::Node* size =
      recipe.FindPath("dataset_params.train_dataloader_params.batch_size");
  if (size == nullptr || !size->is_int()) return std::nullopt;
  BatchSize batch = {.per_rank = size->AsInt()};
  const recipe::Node* accumulate =
      recipe.FindPath("training_hyperparams.batch_accumulate");
  if (accumulate != nullptr && accumulate->is_int()) {
    batch.accumulate = accumulate->AsInt();
  }
  return batch;
}

}  // namespace

std::optional<Training> ReadTraining(const std::vector<std::string>& arguments,
                                     const Locations& here,
                                     Problems& problems) {
  Training training;
  Problems found;
  training.flags = slipway::ParseFlags(arguments, found);
  CheckItTrains(training.flags, found);
  std::optional<recipe::Composed> composed;
  if (!HasErrors(found)) {
    composed = recipe::Compose(RecipeRequest(training.flags, here), found);
  }
  if (composed) {
    training.composed = *std::move(composed);
    training.plugins =
        FindPlugins(training.composed.recipe,
                    PluginFolders(training.flags.plugin_path,
                                  std::getenv("SLIPWAY_PLUGIN_PATH"), here),
                    found);
    CheckRecipe(training.composed, training.plugins,
                training.flags.allow_unknown, found);
  }
  const bool failed = HasErrors(found);
  problems.insert(problems.end(), found.begin(), found.end());
  if (failed) return std::nullopt;
  training.processes_asked = ProcessesAskedFor(training.composed.recipe);
  training.batch = ReadBatch(training.composed.recipe);
  return training;
}

std::optional<plan::Plan> PlanPlugins(const Training& training,
                                      const RanksToPlan& ranks,
                                      Problems& problems) {
  plan::Environment environment = plan::DetectEnvironment();
  environment.world_size = ranks.world_size;
  environment.auto_lr = ranks.auto_lr;
  environment.device = PlannedDevice(training.composed.recipe,
                                     training.flags.device, environment.device);
  return plan::ResolvePlan(training.plugins.manifests, training.composed.recipe,
                           environment, problems, training.plugins.folders);
}

}  // namespace slipway::launcher
