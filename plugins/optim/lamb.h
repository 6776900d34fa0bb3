// LAMB: Adam whose step in each tensor is scaled to the tensor's own size.
#ifndef SLIPWAY_PLUGINS_OPTIM_LAMB_H_
#define SLIPWAY_PLUGINS_OPTIM_LAMB_H_

#include <cstddef>
#include <vector>

#include "plugins/optim/state_optimizer.h"

namespace slipway::optim {

// The defaults are SuperGradients'.
struct LambOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0.01;
  bool bias_correction = true;
  // Weighs the gradient by 1 - beta1 in its average; by 1 otherwise.
  bool grad_averaging = true;
  // All gradients together are scaled down to this 2-norm.
  double max_grad_norm = 1;
  // A tensor's step is never scaled up.
  bool trust_clip = false;
  // Scales the steps of tensors without weight decay, too.
  bool always_adapt = false;
};

// You et al. 2019, as in NVIDIA's and timm's. With g the clipped gradient and t
// the parameter's own steps:
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * p
//   p -= lr * |p| / |u| * u           (the ratio is 1 where a norm is 0)
// State: step, exp_avg, exp_avg_sq.
class Lamb : public StateOptimizer {
 public:
  Lamb(std::vector<ParameterGroup> groups, const LambOptions& options);

 protected:
  void Prepare(const std::vector<Work>& step) override;
  void Update(const Work& work) override;

 private:
  void UpdateOne(const Work& work, size_t i);
  at::Tensor AdamStep(const Work& work, size_t i);
  at::Tensor TrustRatio(const at::Tensor& parameter, const at::Tensor& update);

  LambOptions options_;
  at::Tensor clip_;  // what gradients are divided by in this step
};

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_LAMB_H_
