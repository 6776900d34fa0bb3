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

}  // namespace slipway::optim
