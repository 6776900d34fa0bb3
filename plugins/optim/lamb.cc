#include "plugins/optim/lamb.h"

#include <cmath>
#include <utility>

#include "ATen/ops/linalg_vector_norm.h"
#include "ATen/ops/stack.h"
#include "ATen/ops/where.h"

namespace slipway::optim {
namespace {

enum Field { kStep, kExpAvg, kExpAvgSq };

std::vector<StateField> Fields() {
  return {{.name = "step", .kind = StateField::Kind::kHostScalar},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"}};
}

}  // namespace

Lamb::Lamb(std::vector<ParameterGroup> groups, const LambOptions& options)
    : StateOptimizer(std::move(groups), Fields(), options.weight_decay),
      options_(options) {}

void Lamb::Prepare(const std::vector<Work>& step) {
  std::vector<at::Tensor> norms;
  for (const Work& work : step) {
    for (const at::Tensor& gradient : work.gradients) {
      norms.push_back(at::linalg_vector_norm(gradient));
    }
  }
  if (norms.empty()) return;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(norms));
  clip_ = norm.div(options_.max_grad_norm).clamp_min(1);
}

void Lamb::Update(const Work& work) {
  for (size_t i = 0; i < work.parameters.size(); ++i) UpdateOne(work, i);
}

void Lamb::UpdateOne(const Work& work, size_t i) {
  const at::Tensor& parameter = work.parameters[i];
  at::Tensor update = AdamStep(work, i);
  if (work.weight_decay != 0) update.add_(parameter, work.weight_decay);
  if (work.weight_decay != 0 || options_.always_adapt) {
    update.mul_(TrustRatio(parameter, update));
  }
  parameter.sub_(update, work.learning_rate);
}

at::Tensor Lamb::AdamStep(const Work& work, size_t i) {
  const at::Tensor gradient = work.gradients[i].div(clip_);
  const at::Tensor& average = work.state[kExpAvg][i];
  const at::Tensor& square = work.state[kExpAvgSq][i];
  average.mul_(options_.beta1)
      .add_(gradient, options_.grad_averaging ? 1 - options_.beta1 : 1.0);
  square.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const double t = work.state[kStep][i].add_(1).item<double>();
  if (!options_.bias_correction) {
    return average.div(square.sqrt().add_(options_.eps));
  }
  const double correction1 = 1 - std::pow(options_.beta1, t);
  const double correction2 = 1 - std::pow(options_.beta2, t);
  const at::Tensor deviation =
      square.sqrt().div_(std::sqrt(correction2)).add_(options_.eps);
  return average.div(correction1).div_(deviation);
}

at::Tensor Lamb::TrustRatio(const at::Tensor& parameter,
                            const at::Tensor& update) {
  const at::Tensor size = at::linalg_vector_norm(parameter);
  const at::Tensor step = at::linalg_vector_norm(update);
  const at::Tensor usable = size.gt(0).logical_and(step.gt(0));
  const at::Tensor ratio = at::where(usable, size.div(step), 1.0);
  return options_.trust_clip ? ratio.clamp_max(1) : ratio;
}

}  // namespace slipway::optim
