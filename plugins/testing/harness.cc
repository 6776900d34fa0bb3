#include "plugins/testing/harness.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/testing/small_training.h"
#include "trainer/loop/assemble.h"
#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/load_plugins.h"

namespace slipway::testing {
namespace {

using recipe::Node;

constexpr char kOwnId[] = "plugin";

class Teller : public Reporter {
 public:
  explicit Teller(Told& told) : told_(told) {}
  absl::Status OnStep(const StepReport& step) override {
    told_.steps.push_back(step);
    return absl::OkStatus();
  }
  absl::Status OnEpoch(const EpochReport& epoch) override {
    told_.epochs.push_back(epoch);
    return absl::OkStatus();
  }
  absl::Status OnEvent(const EventReport& event) override {
    told_.events.push_back(event);
    return absl::OkStatus();
  }
  absl::Status OnProblem(const Problem& problem) override {
    told_.problems.push_back(problem);
    return absl::OkStatus();
  }

 private:
  Told& told_;
};

absl::Status Wrong(const Problems& problems) {
  return absl::InvalidArgumentError(FormatProblems(problems));
}

Node& MapAt(Node& map, std::string_view key) {
  Node* const found = map.Find(key);
  if (found != nullptr && found->is_map()) return *found;
  return map.Set(key, Node::Map());
}

void SetDefault(Node& map, std::string_view key, Node value) {
  if (map.Find(key) == nullptr) map.Set(key, std::move(value));
}

// The recipe of a training of the harness's: `options.recipe`, completed.
Node RecipeOf(const HarnessOptions& options, const std::string& id) {
  Node recipe = options.recipe.is_map() ? options.recipe : Node::Map();
  Node& hyperparams = MapAt(recipe, "training_hyperparams");
  hyperparams.Set("max_epochs", Node::Int(options.epochs));
  SetDefault(hyperparams, "initial_lr", Node::Float(0.05));
  SetDefault(hyperparams, "log_every", Node::Int(1));
  SetDefault(hyperparams, "average_best_models", Node::Bool(false));
  std::vector<Node> every_epoch;
  for (int64_t i = 1; i <= options.epochs; ++i) {
    every_epoch.push_back(Node::Int(i));
  }
  SetDefault(hyperparams, "save_ckpt_epoch_list",
             Node::List(std::move(every_epoch)));
  if (id.empty()) return recipe;
  Node& plugins = MapAt(recipe, "plugins");
  SetDefault(plugins, "auto_require", Node::Bool(true));
  Node& entry = MapAt(plugins, id);
  if (options.config.is_map()) entry.Set("config", options.config);
  return recipe;
}

}  // namespace

// Counts, and passes on to the test's watcher.
class PluginHarness::Calls : public Watcher {
 public:
  explicit Calls(Watcher* next) : next_(next) {}
  void Before(Hook hook, const Seen& seen) override {
    ++counts[hook];
    if (next_ != nullptr) next_->Before(hook, seen);
  }
  void After(Hook hook, const Seen& seen) override {
    if (next_ != nullptr) next_->After(hook, seen);
  }
  std::map<Hook, int64_t> counts;

 private:
  Watcher* next_;
};

PluginHarness::PluginHarness() = default;
PluginHarness::~PluginHarness() = default;

absl::StatusOr<std::unique_ptr<PluginHarness>> PluginHarness::Create(
    HarnessOptions options) {
  std::unique_ptr<PluginHarness> harness(new PluginHarness);
  const absl::Status status = harness->Prepare(std::move(options));
  if (!status.ok()) return status;
  return harness;
}

namespace {

// Plan and plugins of a training with the plugin in `options.folder`.
struct Planned {
  plan::Plan plan;
  std::vector<RunningPlugin> plugins;
  Components components;
  std::string id;
};

absl::Status PlanFolder(const HarnessOptions& options, Planned& planned,
                        Node& recipe) {
  Problems problems;
  const std::optional<plan::Manifest> manifest =
      plan::ReadManifest(options.folder + "/plugin.yaml", problems);
  if (!manifest) return Wrong(problems);
  std::vector<plan::Manifest> manifests = {*manifest};
  for (plan::Manifest& other :
       plan::DiscoverManifests(options.plugin_path, problems)) {
    if (other.id != manifest->id) manifests.push_back(std::move(other));
  }
  planned.id = manifest->id;
  recipe = RecipeOf(options, planned.id);
  plan::Environment environment = plan::DetectEnvironment();
  environment.device = "cpu";
  environment.world_size =
      options.group != nullptr ? options.group->world_size() : 1;
  std::optional<plan::Plan> plan =
      plan::ResolvePlan(manifests, recipe, environment, problems);
  if (!plan) return Wrong(problems);
  planned.plan = *std::move(plan);
  planned.plugins =
      LoadPlugins(planned.plan, manifests, planned.components, problems);
  return HasErrors(problems) ? Wrong(problems) : absl::OkStatus();
}

// The plugin that is an object: called at every hook.
void PlanObject(HarnessOptions& options, Planned& planned) {
  if (options.plugin == nullptr) return;
  planned.id = kOwnId;
  RunningPlugin running;
  running.id = kOwnId;
  options.plugin->Register(planned.components);
  running.plugin = PluginPointer(options.plugin.release());
  planned.plugins.push_back(std::move(running));
  for (const std::string& hook : plan::HookNames()) {
    planned.plan.order[hook] = {kOwnId};
  }
}

SmallOptions ShareOf(const HarnessOptions& options) {
  SmallOptions small;
  small.batches = options.steps_per_epoch;
  if (options.group == nullptr) return small;
  small.rank = options.group->rank();
  small.world_size = options.group->world_size();
  return small;
}

// What the recipe names comes from the plugin; all else is the small training.
loop::TrainerParts PartsOf(const HarnessOptions& options, const Node& recipe,
                           const loop::Hyperparams& hyperparams,
                           const Components& components,
                           std::unique_ptr<HookRunner> hooks,
                           Problems& problems) {
  const SmallOptions share = ShareOf(options);
  loop::TrainerParts parts = SmallTraining(share);
  parts.hooks = std::move(hooks);
  const Node* const named = recipe.FindPath("training_hyperparams.optimizer");
  if (named != nullptr) parts.make_optimizer = nullptr;
  loop::Assemble(recipe, hyperparams, components, share.rank, share.world_size,
                 parts, problems);
  return parts;
}

}  // namespace

absl::Status PluginHarness::Prepare(HarnessOptions options) {
  Planned planned;
  Node recipe;
  if (options.folder.empty()) {
    recipe = RecipeOf(options, "");
    PlanObject(options, planned);
  } else {
    const absl::Status status = PlanFolder(options, planned, recipe);
    if (!status.ok()) return status;
  }
  calls_ = std::make_unique<Calls>(options.watcher);
  for (RunningPlugin& running : planned.plugins) {
    if (running.id != planned.id) continue;
    running.plugin = Watch(std::move(running.plugin), *calls_);
    plugin_ = running.plugin.get();
  }
  auto hooks = std::make_unique<HookRunner>(std::move(planned.plugins),
                                            planned.plan.order);
  if (options.neighbour != nullptr) {
    RunningPlugin neighbour;
    neighbour.id = "neighbour";
    neighbour.plugin = PluginPointer(options.neighbour.release());
    hooks->AddCallback(std::move(neighbour));
  }
  Problems problems;
  loop::TrainerOptions trainer;
  trainer.hyperparams = loop::ReadHyperparams(recipe, problems);
  loop::TrainerParts parts =
      PartsOf(options, recipe, trainer.hyperparams, planned.components,
              std::move(hooks), problems);
  model_ = parts.model.get();
  trainer.recipe = recipe;
  trainer.run_dir = options.run_dir;
  trainer.plan = planned.plan;
  trainer.group = options.group;
  if (HasErrors(problems)) return Wrong(problems);
  trainer_ =
      loop::Trainer::Create(std::move(parts), std::move(trainer), problems);
  if (trainer_ == nullptr) return Wrong(problems);
  trainer_->AddReporter(std::make_unique<Teller>(told_));
  return absl::OkStatus();
}

absl::Status PluginHarness::Resume(const Checkpoint& checkpoint) {
  Problems problems;
  const loop::ResumeOptions options = {.path = "a checkpoint"};
  if (trainer_->Resume(checkpoint, options, problems)) return absl::OkStatus();
  return Wrong(problems);
}

loop::RunResult PluginHarness::Train() { return trainer_->Fit(); }

std::vector<double> PluginHarness::losses() const {
  std::vector<double> losses;
  for (const StepReport& step : told_.steps) {
    if (step.loss) losses.push_back(*step.loss);
  }
  return losses;
}

int64_t PluginHarness::calls(Hook hook) const {
  const auto found = calls_->counts.find(hook);
  return found == calls_->counts.end() ? 0 : found->second;
}

absl::StatusOr<PluginState> PluginHarness::SaveState() {
  if (plugin_ == nullptr) return PluginState();
  return plugin_->SaveState();
}

}  // namespace slipway::testing
