#include "plugins/optim/adam.h"

#include <cmath>
#include <utility>

#include "ATen/ops/_foreach_add.h"
#include "ATen/ops/_fused_adam.h"
#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/maximum.h"

namespace slipway::optim {
namespace {

enum Field { kStep, kExpAvg, kExpAvgSq, kMaxExpAvgSq };
// What NumbersOf returns: lr / (1 - beta1^t), sqrt(1 - beta2^t), and what
// decoupled decay leaves of a parameter.
enum Number { kStepSize, kRootOfCorrection, kKept };

std::vector<StateField> Fields(const AdamOptions& options) {
  std::vector<StateField> fields = {
      {.name = "step", .kind = StateField::Kind::kScalar},
      {.name = "exp_avg"},
      {.name = "exp_avg_sq"}};
  if (options.amsgrad) fields.push_back({.name = "max_exp_avg_sq"});
  return fields;
}

}  // namespace

Adam::Adam(std::vector<ParameterGroup> groups, const AdamOptions& options)
    : StateOptimizer(std::move(groups), Fields(options), options.weight_decay),
      options_(options) {}

void Adam::Update(const Work& work) {
  // The kernels correct for bias with the step as it is: 0 would give nan.
  at::_foreach_add_(work.state[kStep], 1);
  const std::vector<at::Tensor> none;
  const auto kernel = [&](auto fused) {
    fused(work.parameters, work.gradients, work.state[kExpAvg],
          work.state[kExpAvgSq],
          options_.amsgrad ? work.state[kMaxExpAvgSq] : none, work.state[kStep],
          work.learning_rate, options_.beta1, options_.beta2, work.weight_decay,
          options_.eps, options_.amsgrad,
          /*maximize=*/false);
  };
  if (options_.decoupled) {
    kernel([](auto&&... args) { at::_fused_adamw_(args...); });
  } else {
    kernel([](auto&&... args) { at::_fused_adam_(args...); });
  }
}

std::vector<double> Adam::NumbersOf(double learning_rate, double steps,
                                    double weight_decay) const {
  const double t = steps + 1;
  return {learning_rate / (1 - std::pow(options_.beta1, t)),
          std::sqrt(1 - std::pow(options_.beta2, t)),
          1 - learning_rate * weight_decay};
}

void Adam::UpdateByNumbers(const Work& work,
                           const std::vector<at::Tensor>& numbers) const {
  for (size_t i = 0; i < work.parameters.size(); ++i) {
    at::Tensor parameter = work.parameters[i];
    at::Tensor gradient = work.gradients[i];
    if (work.weight_decay != 0 && options_.decoupled) {
      parameter.mul_(numbers[kKept]);
    } else if (work.weight_decay != 0) {
      gradient = gradient.add(parameter, work.weight_decay);
    }
    at::Tensor average = work.state[kExpAvg][i];
    at::Tensor squares = work.state[kExpAvgSq][i];
    average.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
    squares.mul_(options_.beta2)
        .addcmul_(gradient, gradient, 1 - options_.beta2);
    if (options_.amsgrad) {
      at::Tensor largest = work.state[kMaxExpAvgSq][i];
      largest.copy_(at::maximum(largest, squares));
      squares = largest;
    }
    const at::Tensor root = squares.sqrt().div(numbers[kRootOfCorrection]);
    parameter.sub_(average.div(root.add(options_.eps)).mul(numbers[kStepSize]));
  }
}

}  // namespace slipway::optim
