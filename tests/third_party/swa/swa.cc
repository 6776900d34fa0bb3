// Stochastic weight averaging: Izmailov et al., "Averaging Weights Leads to
// Wider Optima and Better Generalization", 2018. The mean of the weights after
// each epoch from `start` on, running statistics of normalisations included, is
// what is evaluated, and is saved as "swa_net".
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c10/core/GradMode.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

using Tensors = std::vector<slipway::nn::NamedTensor>;

// Puts other values into a model until it is destroyed.
class OtherValues : public slipway::Scope {
 public:
  OtherValues(Tensors weights, const Tensors& values)
      : weights_(std::move(weights)) {
    const c10::NoGradGuard no_grad;
    for (size_t i = 0; i < weights_.size(); ++i) {
      own_.push_back(weights_[i].second.detach().clone());
      weights_[i].second.copy_(values[i].second);
    }
  }
  ~OtherValues() override {
    const c10::NoGradGuard no_grad;
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights_[i].second.copy_(own_[i]);
    }
  }

 private:
  Tensors weights_;
  std::vector<at::Tensor> own_;
};

class Swa : public slipway::Plugin {
 public:
  explicit Swa(int64_t start) : start_(start) {}

  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "swa", problems);
    const int64_t start = params.Int("start", {.fallback = 0, .min = 0});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return std::make_unique<Swa>(start);
  }

  absl::Status FitBegin(slipway::FitContext& context) override {
    // A resumed training has a mean already.
    if (!mean_.empty()) return absl::OkStatus();
    for (const auto& [name, tensor] : context.model().StateDict()) {
      mean_.emplace_back(name, tensor.detach().clone());
    }
    return absl::OkStatus();
  }

  absl::Status StepEnd(slipway::StepContext& context) override {
    const bool last = context.batch() + 1 == context.batches_per_epoch();
    if (!last || context.epoch() < start_) return absl::OkStatus();
    const c10::NoGradGuard no_grad;
    const double share = 1.0 / static_cast<double>(++epochs_);
    const Tensors weights = context.model().StateDict();
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].second.is_floating_point()) {
        mean_[i].second.lerp_(weights[i].second, share);
      } else {
        mean_[i].second.copy_(weights[i].second);
      }
    }
    return absl::OkStatus();
  }

  absl::Status EvalBegin(slipway::EvalContext& context) override {
    if (epochs_ > 0 && context.split() != "average") {
      context.Enter(
          std::make_unique<OtherValues>(context.model().StateDict(), mean_));
    }
    return absl::OkStatus();
  }

  absl::Status BeforeSave(slipway::CheckpointContext& context) override {
    if (epochs_ > 0) context.SetTensors("swa_net", mean_);
    return absl::OkStatus();
  }

  absl::StatusOr<slipway::PluginState> SaveState() override {
    slipway::PluginState state;
    state.values = slipway::recipe::Node::Map();
    state.values.Set("epochs", slipway::recipe::Node::Int(epochs_));
    state.tensors = mean_;
    return state;
  }

  absl::Status LoadState(int /*version*/,
                         const slipway::PluginState& state) override {
    slipway::Problems problems;
    slipway::recipe::Params params(state.values, "the state of swa", problems);
    epochs_ = params.Int("epochs", {.min = 0});
    mean_ = state.tensors;
    return slipway::ToStatus(problems);
  }

 private:
  int64_t start_;
  int64_t epochs_ = 0;
  Tensors mean_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.swa", "1.0.0", Swa);
