#include "plugins/optim/sgd.h"

#include <utility>

#include "ATen/ops/_fused_sgd.h"

namespace slipway::optim {
namespace {

std::vector<StateField> Fields(const SgdOptions& options) {
  if (options.momentum == 0) return {};
  return {{.name = "momentum_buffer"}};
}

}  // namespace

Sgd::Sgd(std::vector<ParameterGroup> groups, const SgdOptions& options)
    : StateOptimizer(std::move(groups), Fields(options), options.weight_decay),
      options_(options) {}

void Sgd::Update(const Work& work) {
  const std::vector<at::Tensor> none;
  at::_fused_sgd_(work.parameters, work.gradients,
                  work.state.empty() ? none : work.state[0], work.weight_decay,
                  options_.momentum, work.learning_rate, options_.dampening,
                  options_.nesterov, /*maximize=*/false, work.first_step);
}

std::vector<double> Sgd::NumbersOf(double learning_rate, double steps,
                                   double weight_decay) const {
  return {learning_rate};
}

void Sgd::UpdateByNumbers(const Work& work,
                          const std::vector<at::Tensor>& numbers) const {
  for (size_t i = 0; i < work.parameters.size(); ++i) {
    at::Tensor parameter = work.parameters[i];
    at::Tensor step = work.gradients[i];
    if (work.weight_decay != 0) step = step.add(parameter, work.weight_decay);
    if (!work.state.empty()) {
      at::Tensor buffer = work.state[0][i];
      buffer.mul_(options_.momentum).add_(step, 1 - options_.dampening);
      step = options_.nesterov ? step.add(buffer, options_.momentum) : buffer;
    }
    parameter.sub_(step.mul(numbers[0]));
  }
}

}  // namespace slipway::optim
