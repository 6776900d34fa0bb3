#include "plugins/optim/rmsprop.h"

#include <utility>

namespace slipway::optim {
namespace {

std::vector<StateField> Fields(const RmspropOptions& options) {
  std::vector<StateField> fields = {
      {.name = "square_avg", .initial = options.tensorflow ? 1.0 : 0.0}};
  if (options.momentum > 0) fields.push_back({.name = "momentum_buffer"});
  if (options.centered) fields.push_back({.name = "grad_avg"});
  return fields;
}

}  // namespace

RmspropOptions RmspropTfDefaults() {
  return {
      .alpha = 0.9, .eps = 1e-10, .tensorflow = true, .lr_in_momentum = true};
}

Rmsprop::Rmsprop(std::vector<ParameterGroup> groups,
                 const RmspropOptions& options)
    : StateOptimizer(std::move(groups), Fields(options), options.weight_decay),
      options_(options) {}

void Rmsprop::Update(const Work& work) {
  for (size_t i = 0; i < work.parameters.size(); ++i) UpdateOne(work, i);
}

void Rmsprop::UpdateOne(const Work& work, size_t i) {
  const at::Tensor& parameter = work.parameters[i];
  at::Tensor gradient = work.gradients[i];
  if (work.weight_decay != 0 && options_.decoupled_decay) {
    parameter.mul_(1 - work.weight_decay);
  } else if (work.weight_decay != 0) {
    gradient = gradient.add(parameter, work.weight_decay);
  }
  const at::Tensor deviation = Deviation(work, i, gradient);
  if (options_.momentum == 0) {
    parameter.addcdiv_(gradient, deviation, -work.learning_rate);
    return;
  }
  const at::Tensor& buffer = work.state[1][i];
  const double inside = options_.lr_in_momentum ? work.learning_rate : 1;
  const double outside = options_.lr_in_momentum ? 1 : work.learning_rate;
  buffer.mul_(options_.momentum).addcdiv_(gradient, deviation, inside);
  parameter.sub_(buffer, outside);
}

at::Tensor Rmsprop::Deviation(const Work& work, size_t i,
                              const at::Tensor& gradient) {
  const at::Tensor& square = work.state[0][i];
  square.mul_(options_.alpha).addcmul_(gradient, gradient, 1 - options_.alpha);
  at::Tensor variance = square;
  if (options_.centered) {
    const at::Tensor& average = work.state.back()[i];
    average.lerp_(gradient, 1 - options_.alpha);
    variance = square.addcmul(average, average, -1);
  }
  if (options_.tensorflow) return variance.add(options_.eps).sqrt_();
  return variance.sqrt().add_(options_.eps);
}

}  // namespace slipway::optim
