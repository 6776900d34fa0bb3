#include "trainer/api.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "trainer/find_plugins.h"
#include "trainer/join.h"
#include "trainer/json_node.h"
#include "trainer/locations.h"
#include "trainer/loop/stop_signals.h"
#include "trainer/prepare.h"
#include "trainer/report/console.h"
#include "trainer/resume.h"
#include "trainer/run_files.h"

namespace slipway {
namespace {

using recipe::Node;

Node RecipeOf(const std::string& experiment_name, const TrainRequest& request) {
  const Mark mark = {.file = "training_hyperparams"};
  Node recipe = Node::Map();
  recipe.Set("experiment_name", Node::String(experiment_name));
  Node& hyperparams = recipe.Set(
      "training_hyperparams", NodeFromJson(request.training_hyperparams, mark));
  // As in SuperGradients; written down, so that its plugin is planned.
  if (hyperparams.is_map() && hyperparams.Find("optimizer") == nullptr) {
    hyperparams.Set("optimizer", Node::String("SGD"));
  }
  if (!request.plugins.empty()) {
    recipe.Set("plugins", NodeFromJson(request.plugins, {.file = "plugins"}));
  }
  return recipe;
}

void Add(std::string message, Problems& problems) {
  Problem problem;
  problem.kind = "value";
  problem.message = std::move(message);
  problems.push_back(std::move(problem));
}

void CheckRequest(const TrainRequest& request, Problems& problems) {
  if (request.model == nullptr) Add("the request has no model", problems);
  if (request.train_loader == nullptr) {
    Add("the request has no train_loader", problems);
  }
  if (!request.training_hyperparams.is_object()) {
    Add("training_hyperparams is no map", problems);
  }
}

absl::Status Refused(const Problems& problems) {
  return absl::InvalidArgumentError(FormatProblems(problems));
}

}  // namespace

struct Trainer::Impl {
  std::string experiment_name;
  TrainerSettings settings;
  std::unique_ptr<loop::Trainer> trainer;

  RunFolderRequest Folder() const {
    return {.run_dir = "",
            .ckpt_root_dir = settings.ckpt_root_dir,
            .experiment_name = experiment_name};
  }

  // The request, checked as a recipe is. Problems are in `problems`.
  PrepareRequest Preparation(TrainRequest& request, Problems& problems) const {
    PrepareRequest prepare;
    recipe::Composed composed;
    composed.recipe = RecipeOf(experiment_name, request);
    prepare.plugins = FindPlugins(
        composed.recipe,
        PluginFolders(
            settings.plugin_path, std::getenv("SLIPWAY_PLUGIN_PATH"),
            FindLocations(ExecutablePath(), std::getenv("RUNFILES_DIR"))),
        problems);
    CheckRecipe(composed, prepare.plugins, /*allow_unknown=*/false, problems);
    prepare.recipe = std::move(composed.recipe);
    prepare.device = settings.device;
    prepare.parts.model = std::move(request.model);
    prepare.parts.train_loader = std::move(request.train_loader);
    prepare.parts.valid_loader = std::move(request.valid_loader);
    prepare.parts.loss = std::move(request.loss);
    prepare.parts.train_metrics = std::move(request.train_metrics);
    prepare.parts.valid_metrics = std::move(request.valid_metrics);
    prepare.callbacks = std::move(request.callbacks);
    prepare.group = settings.group;
    return prepare;
  }

  // The console and the files of the run, both rank 0's.
  absl::Status StartReports(const RunPlace& place, const Node& recipe,
                            const plan::Plan& plan, dist::ProcessGroup& group,
                            const Problems& problems) {
    if (settings.console && group.rank() == 0) {
      std::cerr << FormatProblems(problems);
      trainer->AddReporter(std::make_unique<ConsoleReporter>(
          std::cerr, ConsoleOptionsFor(STDERR_FILENO)));
    }
    absl::Status created;
    if (!place.dir.empty() && group.rank() == 0) {
      created = StartRunFolder(place, Folder(), recipe, plan, *trainer);
    }
    Problems found;
    if (!created.ok()) Add(std::string(created.message()), found);
    if (AllReady(group, found)) return absl::OkStatus();
    return created.ok() ? Refused(found) : created;
  }
};

Trainer::Trainer(std::string experiment_name, TrainerSettings settings)
    : impl_(std::make_unique<Impl>()) {
  impl_->experiment_name = std::move(experiment_name);
  impl_->settings = std::move(settings);
}

Trainer::~Trainer() = default;

absl::StatusOr<RunResult> Trainer::Train(TrainRequest request) {
  const TrainerSettings& settings = impl_->settings;
  dist::ProcessGroup alone;
  dist::ProcessGroup& group =
      settings.group != nullptr ? *settings.group : alone;
  Problems problems;
  CheckRequest(request, problems);
  if (!AllReady(group, problems)) return Refused(problems);
  std::vector<std::unique_ptr<Reporter>> reporters =
      std::move(request.reporters);
  PrepareRequest prepare = impl_->Preparation(request, problems);
  const Node recipe = prepare.recipe;
  std::optional<RunPlace> place = FindRunPlaceTogether(
      group, recipe, impl_->Folder(), absl::Now(), problems);
  if (settings.ckpt_root_dir.empty() && place) place->dir.clear();
  if (place) {
    prepare.run_dir = place->dir;
    prepare.resumes = !place->checkpoint.empty();
  }
  std::optional<Prepared> prepared = Prepare(std::move(prepare), problems);
  if (!AllReady(group, problems)) return Refused(problems);
  impl_->trainer = std::move(prepared->trainer);
  TakeUp(*place, recipe, prepared->plan, *impl_->trainer, problems);
  if (!AllReady(group, problems)) return Refused(problems);
  const absl::Status started =
      impl_->StartReports(*place, recipe, prepared->plan, group, problems);
  if (!started.ok()) return started;
  for (auto& reporter : reporters) {
    impl_->trainer->AddReporter(std::move(reporter));
  }
  std::optional<loop::StopSignals> signals;
  if (settings.handle_signals) signals.emplace(impl_->trainer->stop_signal());
  return impl_->trainer->Fit();
}

nn::Module* Trainer::model() {
  return impl_->trainer != nullptr ? &impl_->trainer->model() : nullptr;
}

std::unique_ptr<nn::Module> Trainer::TakeModel() {
  return impl_->trainer != nullptr ? impl_->trainer->TakeModel() : nullptr;
}

}  // namespace slipway
