// A plugin as it could be written for API 1.1: it uses every context, has a
// component and state.
#include "tests/abi/api_1_1/trainer/plugin/plugin.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"

namespace slipway {
namespace {

using recipe::Node;

class OldSgd : public Optimizer {
 public:
  explicit OldSgd(std::vector<ParameterGroup> groups)
      : Optimizer(std::move(groups)) {}
  absl::Status Step(const std::vector<double>& learning_rates) override {
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (auto& [name, parameter] : groups_[i].parameters) {
        if (!parameter.grad().defined()) continue;
        parameter.sub_(parameter.grad(), learning_rates[i]);
      }
    }
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, OptimizerState>> State() const override {
    return {};
  }
  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>&) override {
    return absl::OkStatus();
  }
};

struct Counted : public Scope {
  explicit Counted(int64_t& ends) : ends(ends) {}
  ~Counted() override { ++ends; }
  int64_t& ends;
};

class Old : public Plugin {
 public:
  explicit Old(double scale) : scale_(scale) {}

  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const Node& config) {
    return std::make_unique<Old>(config.Find("scale")->AsDouble());
  }

  void Register(Components& components) override {
    components.optimizers.Add(
        "OldSgd",
        [](const BuildArgs&,
           std::vector<ParameterGroup> groups) -> std::unique_ptr<Optimizer> {
          return std::make_unique<OldSgd>(std::move(groups));
        });
  }

  absl::Status Configure(ConfigureContext& context) override {
    Count("configure", context.max_epochs());
    return absl::OkStatus();
  }
  absl::Status BuildOptimizer(OptimizerContext& context) override {
    Count("parameters", context.groups().front().parameters.size());
    return absl::OkStatus();
  }
  absl::Status WrapForward(WrapContext& context) override {
    context.Wrap([this](const auto& next, const Value& input) {
      Count("forwards", 1);
      return next(input);
    });
    return absl::OkStatus();
  }
  absl::Status FitBegin(FitContext& context) override {
    Count("steps_planned", context.total_steps());
    return absl::OkStatus();
  }
  absl::Status BatchFetched(BatchContext& context) override {
    Count("samples", context.current_batch().size());
    return absl::OkStatus();
  }
  absl::Status BeforeForward(ForwardContext& context) override {
    context.Enter(std::make_unique<Counted>(scopes_));
    return absl::OkStatus();
  }
  absl::Status AfterLoss(OutputContext& context) override {
    context.loss().total = context.loss().total.mul(scale_);
    return absl::OkStatus();
  }
  absl::Status BeforeOptimizer(GradientContext& context) override {
    for (const auto& [name, parameter] : context.model().NamedParameters()) {
      if (parameter.grad().defined()) Count("gradients", 1);
    }
    return absl::OkStatus();
  }
  absl::Status AfterOptimizer(StepContext& context) override {
    if (context.step_taken()) Count("steps", 1);
    return absl::OkStatus();
  }
  absl::Status EpochEnd(FitContext& context) override {
    const double loss = context.Metric("train", "SmallLoss");
    Count("epochs_with_loss", loss > 0 ? 1 : 0);
    return absl::OkStatus();
  }
  absl::Status EvalBegin(EvalContext& context) override {
    Count("evaluations of " + context.split(), 1);
    return absl::OkStatus();
  }
  absl::Status BeforeSave(CheckpointContext& context) override {
    context.SetTensors("old_net", context.model().StateDict());
    return absl::OkStatus();
  }
  absl::Status AfterLoad(CheckpointContext& context) override {
    if (context.FindTensors("old_net") != nullptr) Count("found", 1);
    return absl::OkStatus();
  }
  absl::Status FitEnd(FitContext& context) override {
    Count("scopes", scopes_);
    context.Tell("old_event", counts_);
    context.SetResult("api_1_1", counts_);
    return absl::OkStatus();
  }
  absl::StatusOr<PluginState> SaveState() override {
    PluginState state;
    const Node* const steps = counts_.Find("steps");
    state.values = Node::Map();
    state.values.Set("steps", steps != nullptr ? *steps : Node::Int(0));
    return state;
  }
  absl::Status LoadState(int /*version*/, const PluginState& state) override {
    counts_.Set("steps", *state.values.Find("steps"));
    return absl::OkStatus();
  }

 private:
  void Count(const std::string& what, int64_t n) {
    const Node* const before = counts_.Find(what);
    counts_.Set(what, Node::Int(n + (before != nullptr ? before->AsInt() : 0)));
  }

  double scale_;
  Node counts_ = Node::Map();
  int64_t scopes_ = 0;
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN("api_1_1", "1.0.0", slipway::Old);
