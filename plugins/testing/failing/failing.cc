// A plugin whose configuration tells which of its faults it has: for the test
// that every check of conformance can fail. Without one it passes them all.
#include <fcntl.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/zeros.h"
#include "trainer/plugin/plugin.h"

namespace {

using slipway::recipe::Node;

// Steps that grow with their number, which is its state.
class Growing : public slipway::Optimizer {
 public:
  Growing(std::vector<slipway::ParameterGroup> groups, bool forgets)
      : Optimizer(std::move(groups)), forgets_(forgets) {}

  absl::Status Step(const std::vector<double>& learning_rates) override {
    const at::NoGradGuard no_gradients;
    steps_.add_(1);
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (auto& [name, parameter] : groups_[i].parameters) {
        if (!parameter.grad().defined()) continue;
        parameter.sub_(parameter.grad().mul(steps_), learning_rates[i]);
      }
    }
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, slipway::OptimizerState>> State()
      const override {
    if (forgets_) return {};
    return {{groups_[0].parameters[0].first, {{"steps", steps_}}}};
  }
  absl::Status LoadState(
      const std::vector<std::pair<std::string, slipway::OptimizerState>>& state)
      override {
    if (!state.empty()) steps_.copy_(state[0].second[0].second);
    return absl::OkStatus();
  }

 private:
  bool forgets_;
  at::Tensor steps_ = at::zeros({});
};

// Counts steps, and keeps their number as its state.
class Failing : public slipway::Plugin {
 public:
  explicit Failing(std::string fault) : fault_(std::move(fault)) {}

  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const Node& config) {
    const std::string& fault = config.Find("fault")->AsString();
    if (fault == "bound" && config.Find("amount")->AsDouble() == 1) {
      return absl::InvalidArgumentError("amount: 1 is too much");
    }
    if (fault == "fuzz" && config.Find("text")->AsString().empty()) abort();
    if (fault == "disturb") at::set_num_threads(3);
    if (fault == "leak") static_cast<void>(new std::string(50, 'x'));
    return std::make_unique<Failing>(fault);
  }

  void Register(slipway::Components& components) override {
    const bool forgets = fault_ == "optimizer";
    components.optimizers.Add(
        "Growing", [forgets](const slipway::BuildArgs&,
                             std::vector<slipway::ParameterGroup> groups) {
          return std::make_unique<Growing>(std::move(groups), forgets);
        });
  }

  absl::Status FitBegin(slipway::FitContext& context) override {
    if (fault_ == "alone") return absl::InternalError("where is the other?");
    if (fault_ == "close") file_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    began_ = std::make_unique<int>(0);
    return absl::OkStatus();
  }

  absl::Status BeforeOptimizer(slipway::GradientContext& context) override {
    double push = 0;
    if (fault_ == "ranks") push = 1e-3 * context.rank();
    if (fault_ == "state") push = 1e-3 * steps_;
    if (push == 0) return absl::OkStatus();
    const at::NoGradGuard no_gradients;
    for (auto& [name, parameter] : context.model().NamedParameters()) {
      parameter.add_(push);
    }
    return absl::OkStatus();
  }

  absl::Status AfterOptimizer(slipway::StepContext& context) override {
    ++steps_;
    if (fault_ != "phase") return absl::OkStatus();
    // The model is read-only here; its tensors cannot be.
    const at::NoGradGuard no_gradients;
    for (auto& [name, parameter] : context.model().NamedParameters()) {
      parameter.mul_(0.999);
    }
    return absl::OkStatus();
  }

  void Close() override {
    if (fault_ == "neighbour") steps_ += *began_;
  }

  absl::StatusOr<slipway::PluginState> SaveState() override {
    slipway::PluginState state;
    state.values = Node::Map();
    state.values.Set("steps", Node::Int(fault_ == "state" ? 0 : steps_));
    return state;
  }

  absl::Status LoadState(int version,
                         const slipway::PluginState& state) override {
    if (fault_ == "old_state" && version < 2) {
      return absl::InvalidArgumentError("what was that again?");
    }
    steps_ = state.values.Find("steps")->AsInt();
    return absl::OkStatus();
  }

 private:
  std::string fault_;
  std::unique_ptr<int> began_;
  int file_ = -1;
  int64_t steps_ = 0;
};

}  // namespace

SLIPWAY_PLUGIN("failing", "1.0.0", Failing);

#ifdef ONE_TOO_MANY
extern "C" __attribute__((visibility("default"))) void one_too_many() {
  exit(0);
}
#endif
