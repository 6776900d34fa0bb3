#include "plugins/ema/weight_average.h"

#include <map>
#include <utility>

#include "ATen/ops/_foreach_lerp.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/core/GradMode.h"

namespace slipway::ema {
namespace {

class SwappedWeights : public Scope {
 public:
  SwappedWeights(const std::vector<at::Tensor>& weights,
                 const std::vector<at::Tensor>& averages)
      : weights_(weights) {
    originals_.reserve(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      originals_.push_back(weights[i].variable_data());
      weights[i].set_data(averages[i]);
    }
  }
  // In reverse, since a tensor may have two names.
  ~SwappedWeights() override {
    for (size_t i = weights_.size(); i-- > 0;) {
      weights_[i].set_data(originals_[i]);
    }
  }

 private:
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> originals_;
};

std::string ShapeText(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

}  // namespace

WeightAverage::WeightAverage(const nn::Module& model, bool freeze_integers) {
  const c10::NoGradGuard no_grad;
  for (const auto& [name, weight] : model.StateDict()) {
    const bool floating = weight.is_floating_point();
    at::Tensor average;
    if (floating || freeze_integers) average = weight.detach().clone();
    if (floating) {
      floating_weights_.push_back(weight);
      floating_averages_.push_back(average);
    }
    names_.push_back(name);
    weights_.push_back(weight);
    averages_.push_back(std::move(average));
  }
}

void WeightAverage::Update(double decay) {
  const c10::NoGradGuard no_grad;
  if (floating_averages_.empty()) return;
  at::_foreach_lerp_(floating_averages_, floating_weights_, 1 - decay);
}

void WeightAverage::UpdateBy(const at::Tensor& share) {
  const c10::NoGradGuard no_grad;
  for (size_t i = 0; i < floating_averages_.size(); ++i) {
    at::Tensor& average = floating_averages_[i];
    average.lerp_(floating_weights_[i], share.to(average.scalar_type()));
  }
}

std::vector<nn::NamedTensor> WeightAverage::Averages() const {
  std::vector<nn::NamedTensor> averages;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (weights_[i].is_floating_point()) {
      averages.emplace_back(names_[i], averages_[i]);
    }
  }
  return averages;
}

std::vector<nn::NamedTensor> WeightAverage::State() const {
  std::vector<nn::NamedTensor> state;
  for (size_t i = 0; i < names_.size(); ++i) {
    state.emplace_back(names_[i], averages_[i].defined()
                                      ? averages_[i]
                                      : weights_[i].detach());
  }
  return state;
}

absl::Status WeightAverage::Load(const std::vector<nn::NamedTensor>& state) {
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  std::vector<std::string> wrong;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto node = given.extract(names_[i]);
    if (node.empty()) {
      wrong.push_back(absl::StrCat("missing ", names_[i]));
    } else if (node.mapped().sizes() != weights_[i].sizes()) {
      wrong.push_back(absl::StrCat(names_[i], " has shape ",
                                   ShapeText(node.mapped()), ", expected ",
                                   ShapeText(weights_[i])));
    } else if (averages_[i].defined()) {
      copies.emplace_back(averages_[i], node.mapped());
    }
  }
  for (const auto& [name, tensor] : given) {
    wrong.push_back(absl::StrCat("unexpected ", name));
  }
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ema_net does not fit the model: ", absl::StrJoin(wrong, "; ")));
  }
  const c10::NoGradGuard no_grad;
  for (const auto& [average, value] : copies) average.copy_(value);
  return absl::OkStatus();
}

absl::Status WeightAverage::CheckModel(const nn::Module& model) const {
  const std::vector<nn::NamedTensor> state = model.StateDict();
  for (size_t i = 0; i < state.size(); ++i) {
    if (i < weights_.size() && weights_[i].is_same(state[i].second)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the model's tensor \"", state[i].first,
                     "\" was put in place after its average began; replace "
                     "layers in TransformModel"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Scope> WeightAverage::SwapIn() {
  return std::make_unique<SwappedWeights>(floating_weights_,
                                          floating_averages_);
}

}  // namespace slipway::ema
