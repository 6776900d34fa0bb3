#include "trainer/loop/gradients.h"

#include <cmath>
#include <limits>

#include "ATen/ops/_foreach_mul.h"
#include "ATen/ops/_foreach_norm.h"
#include "ATen/ops/linalg_vector_norm.h"
#include "ATen/ops/reciprocal.h"
#include "ATen/ops/stack.h"

namespace slipway::loop {

std::vector<at::Tensor> GradientsOf(const Optimizer& optimizer) {
  std::vector<at::Tensor> gradients;
  for (const ParameterGroup& group : optimizer.groups()) {
    for (const auto& [name, parameter] : group.parameters) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
  }
  return gradients;
}

// The largest magnitude is not finite if any value is not: it keeps nans.
bool AllFinite(const std::vector<at::Tensor>& gradients) {
  if (gradients.empty()) return true;
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  const at::Tensor largest =
      at::stack(at::_foreach_norm(gradients, kLargest)).sum();
  return std::isfinite(largest.item().toDouble());
}

at::Tensor ClipGradientNorm(const std::vector<at::Tensor>& gradients,
                            double max_norm) {
  if (gradients.empty()) return {};
  const at::Tensor norm =
      at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  const at::Tensor scale =
      norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1);
  at::_foreach_mul_(gradients, scale);
  return norm;
}

}  // namespace slipway::loop
