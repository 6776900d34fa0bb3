// Stochastic gradient descent with momentum, in one pass over memory (a fused
// kernel).
#ifndef SLIPWAY_PLUGINS_OPTIM_SGD_H_
#define SLIPWAY_PLUGINS_OPTIM_SGD_H_

#include <vector>

#include "plugins/optim/state_optimizer.h"

namespace slipway::optim {

// The defaults are SuperGradients'. Nesterov needs momentum and no dampening.
struct SgdOptions {
  double momentum = 0.9;
  double dampening = 0;
  double weight_decay = 1e-4;
  bool nesterov = false;
};

// With g the gradient plus weight_decay times the parameter p:
//   buf = momentum * buf + (1 - dampening) * g      (g itself the first time)
//   p  -= lr * (nesterov ? g + momentum * buf : buf)
// State: momentum_buffer; none without momentum.
class Sgd : public StateOptimizer {
 public:
  Sgd(std::vector<ParameterGroup> groups, const SgdOptions& options);

 protected:
  void Update(const Work& work) override;
  std::vector<double> NumbersOf(double learning_rate, double steps,
                                double weight_decay) const override;
  void UpdateByNumbers(const Work& work,
                       const std::vector<at::Tensor>& numbers) const override;

 private:
  SgdOptions options_;
};

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_SGD_H_
