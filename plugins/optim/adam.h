// Adam and AdamW, in one pass over memory (fused kernels).
#ifndef SLIPWAY_PLUGINS_OPTIM_ADAM_H_
#define SLIPWAY_PLUGINS_OPTIM_ADAM_H_

#include <vector>

#include "plugins/optim/state_optimizer.h"

namespace slipway::optim {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  // Divides by the largest second moment so far.
  bool amsgrad = false;
  // AdamW: p is multiplied by 1 - lr * weight_decay first. Otherwise weight
  // decay is part of the gradient.
  bool decoupled = false;
};

// Kingma and Ba 2014; Loshchilov and Hutter 2017. With g the gradient and t the
// parameter's own steps, from 1:
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
// State: step, exp_avg, exp_avg_sq, and max_exp_avg_sq with amsgrad.
class Adam : public StateOptimizer {
 public:
  Adam(std::vector<ParameterGroup> groups, const AdamOptions& options);

 protected:
  void Update(const Work& work) override;
  std::vector<double> NumbersOf(double learning_rate, double steps,
                                double weight_decay) const override;
  void UpdateByNumbers(const Work& work,
                       const std::vector<at::Tensor>& numbers) const override;

 private:
  AdamOptions options_;
};

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_ADAM_H_
