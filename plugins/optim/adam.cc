#include "plugins/optim/adam.h"

#include <utility>

#include "ATen/ops/_foreach_add.h"
#include "ATen/ops/_fused_adam.h"
#include "ATen/ops/_fused_adamw.h"

namespace slipway::optim {
namespace {

enum Field { kStep, kExpAvg, kExpAvgSq, kMaxExpAvgSq };

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

}  // namespace slipway::optim
