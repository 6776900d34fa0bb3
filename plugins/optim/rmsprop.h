// RMSprop, and RMSprop as TensorFlow has it.
#ifndef SLIPWAY_PLUGINS_OPTIM_RMSPROP_H_
#define SLIPWAY_PLUGINS_OPTIM_RMSPROP_H_

#include <cstddef>
#include <vector>

#include "plugins/optim/state_optimizer.h"

namespace slipway::optim {

// The defaults are SuperGradients' for RMSprop.
struct RmspropOptions {
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 1e-4;
  double momentum = 0.9;
  // Divides by the gradient's deviation instead of its size.
  bool centered = false;

  // TensorFlow's: the average starts at 1 instead of 0, and eps is added
  // before the square root is taken.
  bool tensorflow = false;
  // The momentum buffer adds up lr * update, so that a change of the rate acts
  // on later steps only.
  bool lr_in_momentum = false;
  // p is multiplied by 1 - weight_decay in every step (whatever the learning
  // rate is) instead of weight decay being part of the gradient.
  bool decoupled_decay = false;
};

// RMSpropTF's defaults, which are SuperGradients' too.
RmspropOptions RmspropTfDefaults();

// With g the gradient plus weight_decay times the parameter p:
//   s = alpha * s + (1 - alpha) * g^2
//   a = alpha * a + (1 - alpha) * g                        (centered)
//   d = sqrt(s - a^2) + eps                                (a = 0 otherwise)
//   buf = momentum * buf + g / d
//   p -= lr * buf
// State: square_avg, momentum_buffer (with momentum), grad_avg (centered).
class Rmsprop : public StateOptimizer {
 public:
  Rmsprop(std::vector<ParameterGroup> groups, const RmspropOptions& options);

 protected:
  void Update(const Work& work) override;

 private:
  void UpdateOne(const Work& work, size_t i);
  // d above.
  at::Tensor Deviation(const Work& work, size_t i, const at::Tensor& gradient);

  RmspropOptions options_;
};

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_RMSPROP_H_
