#include "trainer/loop/clip.h"

#include "ATen/ops/_foreach_mul.h"
#include "ATen/ops/_foreach_norm.h"
#include "ATen/ops/linalg_vector_norm.h"
#include "ATen/ops/reciprocal.h"
#include "ATen/ops/stack.h"

namespace slipway::loop {

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
