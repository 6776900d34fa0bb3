#include "trainer/prepare.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "ATen/Context.h"
#include "absl/strings/str_cat.h"
#include "trainer/loop/assemble.h"
#include "trainer/loop/starting_weights.h"
#include "trainer/plugin/load_plugins.h"

namespace slipway {
namespace {

using recipe::Node;

Problem Wrong(std::string kind, std::string message, Mark where,
              std::string hint) {
  Problem problem;
  problem.kind = std::move(kind);
  problem.message = std::move(message);
  problem.where = {std::move(where)};
  problem.hint = std::move(hint);
  return problem;
}

std::string TextAt(const Node& recipe, std::string_view key) {
  const Node* node = recipe.Find(key);
  return node != nullptr && node->is_string() ? node->AsString() : "";
}

Mark MarkAt(const Node& recipe, std::string_view key) {
  const Node* node = recipe.Find(key);
  return node != nullptr ? node->mark() : Mark();
}

class Preparation {
 public:
  Preparation(PrepareRequest request, Problems& problems)
      : request_(std::move(request)), problems_(problems) {}

  std::optional<Prepared> Run() {
    // The schema has told what is wrong with their types already.
    if (!HasErrors(problems_)) {
      hyperparams_ = loop::ReadHyperparams(request_.recipe, found_);
    }
    CheckRanks();
    environment_ = plan::DetectEnvironment();
    environment_.world_size = here().world_size;
    environment_.device =
        ChooseDevice(request_.recipe, request_.device, found_);
    ResolvePlan();
    std::optional<Prepared> prepared;
    if (!HasErrors(found_) && !HasErrors(problems_)) prepared = Build();
    problems_.insert(problems_.end(), found_.begin(), found_.end());
    return prepared;
  }

 private:
  dist::Environment here() const {
    return request_.group != nullptr ? request_.group->environment()
                                     : dist::Environment();
  }

  // Whoever starts several processes means that they train together.
  void CheckRanks() {
    const char* size = std::getenv("WORLD_SIZE");
    if (request_.group != nullptr || size == nullptr ||
        std::string_view(size) == "1") {
      return;
    }
    found_.push_back(Wrong(
        "value",
        absl::StrCat("WORLD_SIZE is ", size, ", and this trainer is alone"), {},
        "give it the group of the ranks, or unset WORLD_SIZE"));
  }

  void ResolvePlan() {
    std::optional<plan::Plan> plan =
        plan::ResolvePlan(request_.plugins.manifests, request_.recipe,
                          environment_, found_, request_.plugins.folders);
    if (plan) plan_ = *std::move(plan);
    found_.insert(found_.end(), plan_.problems.begin(), plan_.problems.end());
  }

  std::optional<Prepared> Build() {
    Components components;
    std::vector<RunningPlugin> plugins =
        LoadPlugins(plan_, request_.plugins.manifests, components, found_);
    if (HasErrors(found_)) return std::nullopt;
    loop::TrainerParts& parts = request_.parts;
    parts.hooks = std::make_unique<HookRunner>(std::move(plugins), plan_.order);
    AddCallbacks(*parts.hooks);
    loop::Assemble(request_.recipe, hyperparams_, components, here().rank,
                   here().world_size, parts, found_);
    CheckLoss();
    if (parts.model != nullptr && !request_.resumes) {
      loop::LoadStartingWeights(request_.recipe, *parts.model, found_);
    }
    if (HasErrors(found_)) return std::nullopt;
    Prepared prepared;
    prepared.architecture = TextAt(request_.recipe, "architecture");
    if (prepared.architecture.empty()) {
      prepared.architecture = parts.model->kind();
    }
    prepared.trainer = loop::Trainer::Create(
        std::move(parts), Options(prepared.architecture), found_);
    if (prepared.trainer == nullptr) return std::nullopt;
    prepared.plan = std::move(plan_);
    return prepared;
  }

  void AddCallbacks(HookRunner& hooks) {
    for (auto& callback : request_.callbacks) {
      RunningPlugin running;
      running.id = "callback";
      running.plugin = PluginPointer(callback.release());
      hooks.AddCallback(std::move(running));
    }
  }

  void CheckLoss() {
    if (request_.parts.loss != nullptr || plan_.claims.count("loss") > 0) {
      return;
    }
    if (HasErrors(found_)) return;  // the loss may be what is wrong
    found_.push_back(Wrong("recipe", "no loss", {},
                           "set training_hyperparams.loss, for example to "
                           "CrossEntropyLoss"));
  }

  loop::TrainerOptions Options(const std::string& architecture) const {
    loop::TrainerOptions options;
    options.hyperparams = hyperparams_;
    options.recipe = request_.recipe;
    options.recipe_name = request_.recipe_name;
    options.experiment_name = TextAt(request_.recipe, "experiment_name");
    options.architecture = architecture;
    options.run_dir = request_.run_dir;
    if (environment_.device == "cuda") {
      const auto index = static_cast<at::DeviceIndex>(here().local_rank);
      options.device = at::Device(at::kCUDA, index);
    }
    options.plan = plan_;
    options.group = request_.group;
    return options;
  }

  PrepareRequest request_;
  Problems& problems_;
  Problems found_;
  loop::Hyperparams hyperparams_;
  plan::Environment environment_;
  plan::Plan plan_;
};

}  // namespace

std::string ChooseDevice(const Node& recipe, const std::string& flag,
                         Problems& problems) {
  const std::string wanted = flag.empty() ? TextAt(recipe, "device") : flag;
  const bool here = plan::DetectEnvironment().device == "cuda" && at::hasCUDA();
  if (wanted == "cuda" && !here) {
    problems.push_back(Wrong(
        "value", "device: no CUDA device can be used", MarkAt(recipe, "device"),
        at::hasCUDA() ? "check the driver with nvidia-smi, or use cpu"
                      : "build with --config=cuda, or use cpu"));
  }
  return here && wanted != "cpu" ? "cuda" : "cpu";
}

std::optional<Prepared> Prepare(PrepareRequest request, Problems& problems) {
  return Preparation(std::move(request), problems).Run();
}

}  // namespace slipway
