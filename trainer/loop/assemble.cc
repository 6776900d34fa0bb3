#include "trainer/loop/assemble.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/data/build.h"
#include "trainer/data/component_spec.h"
#include "trainer/loop/random.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

using data::ComponentSpec;
using recipe::Node;

const Node& NoNode() {
  static const Node* const none = new Node();
  return *none;
}

const Node& At(const Node& recipe, std::string_view path) {
  const Node* node = recipe.FindPath(path);
  return node != nullptr ? *node : NoNode();
}

void Fail(Problems& problems, std::string message, Mark where,
          std::string hint) {
  Problem problem;
  problem.kind = "recipe";
  problem.message = std::move(message);
  problem.where = {std::move(where)};
  problem.hint = std::move(hint);
  problems.push_back(std::move(problem));
}

class Assembler {
 public:
  Assembler(const Node& recipe, const Hyperparams& hyperparams,
            const Components& components, const data::LoaderWorld& world,
            TrainerParts& parts, Problems& problems)
      : recipe_(recipe),
        h_(hyperparams),
        components_(components),
        world_(world),
        parts_(parts),
        problems_(problems) {}

  void Run() {
    BuildModel();
    BuildLoaders();
    BuildLoss();
    BuildMetrics("train_metrics_list", parts_.train_metrics);
    BuildMetrics("valid_metrics_list", parts_.valid_metrics);
    BuildSchedule();
    ChooseOptimizer();
    BuildCallbacks();
    BuildReporter();
  }

 private:
  const Node& Hyperparam(const std::string& key) const {
    return At(recipe_, absl::StrCat("training_hyperparams.", key));
  }

  BuildArgs Args(const Node& params, Problems& problems) const {
    return {params, recipe_, components_, problems, h_.seed};
  }

  // Calls a factory behind the wall that exceptions do not pass.
  template <typename T, typename Function>
  std::unique_ptr<T> Create(const Registry<Function>& registry,
                            const std::string& noun,
                            const ComponentSpec& spec) {
    const Function* factory = registry.Find(spec.name);
    if (factory == nullptr) {
      problems_.push_back(data::UnknownComponent(spec, noun, registry.names()));
      return nullptr;
    }
    try {
      return (*factory)(Args(spec.params, problems_));
    } catch (...) {
      Fail(problems_,
           absl::StrCat(noun, " \"", spec.name, "\" was not made: ",
                        CurrentExceptionStatus().message()),
           spec.where, "check its parameters");
      return nullptr;
    }
  }

  // `name` as it was registered, since names match without case.
  static std::string Spelling(const std::string& name,
                              const std::vector<std::string>& registered) {
    for (const std::string& entry : registered) {
      if (entry == name) return entry;
    }
    for (const std::string& entry : registered) {
      if (ComponentKey(entry) == ComponentKey(name)) return entry;
    }
    return name;
  }

  // Reads the component at `value`; nullopt if it is null or wrong.
  std::optional<ComponentSpec> Read(const Node& value, std::string_view noun) {
    if (value.is_null()) return std::nullopt;
    return data::ReadComponent(value, noun, problems_);
  }

  // Parameters that stand under a key of their own.
  static void TakeParams(const Node& params, ComponentSpec& spec) {
    if (spec.params.is_null()) spec.params = params;
  }

  void BuildModel() {
    if (parts_.model != nullptr) return;
    const Node& name = At(recipe_, "architecture");
    if (name.is_null()) {
      Fail(problems_, "no model: `architecture` is not set", recipe_.mark(),
           absl::StrCat("set it to one of ",
                        absl::StrJoin(components_.models.names(), ", ")));
      return;
    }
    std::optional<ComponentSpec> spec = Read(name, "model");
    if (!spec) return;
    TakeParams(At(recipe_, "arch_params"), *spec);
    SeedGenerators(h_.seed, at::kCPU);
    parts_.model = Create<nn::Module>(components_.models, "model", *spec);
  }

  void BuildLoaders() {
    if (parts_.train_loader == nullptr) {
      parts_.train_loader = data::BuildLoader(recipe_, data::Split::kTrain,
                                              components_, world_, problems_);
    }
    if (parts_.valid_loader == nullptr &&
        data::NamesLoader(recipe_, data::Split::kValid)) {
      parts_.valid_loader = data::BuildLoader(recipe_, data::Split::kValid,
                                              components_, world_, problems_);
    }
  }

  void BuildLoss() {
    if (parts_.loss != nullptr) return;
    std::optional<ComponentSpec> spec = Read(Hyperparam("loss"), "loss");
    if (!spec) return;
    TakeParams(Hyperparam("criterion_params"), *spec);
    parts_.loss_name = Spelling(spec->name, components_.losses.names());
    parts_.loss = Create<Loss>(components_.losses, "loss", *spec);
  }

  void BuildMetrics(const std::string& key, MetricList& metrics) {
    if (!metrics.empty()) return;
    const std::vector<ComponentSpec> specs =
        data::ReadComponents(Hyperparam(key), "metric", problems_);
    for (const ComponentSpec& spec : specs) {
      auto metric = Create<Metric>(components_.metrics, "metric", spec);
      if (metric != nullptr) metrics.push_back(std::move(metric));
    }
  }

  void BuildSchedule() {
    if (parts_.schedule != nullptr) return;
    const std::optional<ComponentSpec> spec =
        Read(Hyperparam("lr_mode"), "schedule");
    if (!spec) return;
    parts_.schedule =
        Create<Schedule>(components_.schedules, "schedule", *spec);
  }

  // The optimizer itself is made when the parameter groups are known.
  void ChooseOptimizer() {
    if (parts_.make_optimizer) return;
    const Node& name = Hyperparam("optimizer");
    if (name.is_null()) {
      Fail(problems_, "no optimizer", recipe_.mark(),
           "set training_hyperparams.optimizer, for example to SGD");
      return;
    }
    std::optional<ComponentSpec> read = Read(name, "optimizer");
    if (!read) return;
    ComponentSpec spec = *std::move(read);
    TakeParams(Hyperparam("optimizer_params"), spec);
    const OptimizerFactory* factory = components_.optimizers.Find(spec.name);
    if (factory == nullptr) {
      problems_.push_back(data::UnknownComponent(
          spec, "optimizer", components_.optimizers.names()));
      return;
    }
    parts_.make_optimizer =
        [&recipe = recipe_, &components = components_, seed = h_.seed, spec,
         factory](std::vector<ParameterGroup> groups, Problems& problems) {
          return (*factory)({spec.params, recipe, components, problems, seed},
                            std::move(groups));
        };
  }

  void BuildCallbacks() {
    const std::vector<ComponentSpec> specs = data::ReadComponents(
        Hyperparam("phase_callbacks"), "callback", problems_);
    for (const ComponentSpec& spec : specs) {
      auto callback = Create<Plugin>(components_.callbacks, "callback", spec);
      if (callback == nullptr) continue;
      RunningPlugin running;
      running.id = spec.name;
      running.plugin = PluginPointer(callback.release());
      running.where = spec.where;
      parts_.hooks->AddCallback(std::move(running));
    }
  }

  // base_sg_logger is what every run writes anyhow.
  void BuildReporter() {
    const std::optional<ComponentSpec> spec =
        Read(Hyperparam("sg_logger"), "reporter");
    if (!spec || spec->name == "base_sg_logger") return;
    auto reporter = Create<Reporter>(components_.reporters, "reporter", *spec);
    if (reporter != nullptr) parts_.reporters.push_back(std::move(reporter));
  }

  const Node& recipe_;
  const Hyperparams& h_;
  const Components& components_;
  const data::LoaderWorld world_;
  TrainerParts& parts_;
  Problems& problems_;
};

}  // namespace

void Assemble(const Node& recipe, const Hyperparams& hyperparams,
              const Components& components, int rank, int world_size,
              TrainerParts& parts, Problems& problems) {
  if (parts.hooks == nullptr) {
    parts.hooks = std::make_unique<HookRunner>(std::vector<RunningPlugin>(),
                                               HookRunner::Order());
  }
  const data::LoaderWorld world = {
      .seed = hyperparams.seed, .rank = rank, .world_size = world_size};
  Assembler(recipe, hyperparams, components, world, parts, problems).Run();
}

}  // namespace slipway::loop
