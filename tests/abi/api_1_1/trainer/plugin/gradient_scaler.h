// Loss scaling, for whoever claims the slot `backward_scale`.
//
// The loop's order is: backward from Scale(loss); after the window's last
// micro-batch Unscale(gradients); the hook BeforeOptimizer (true gradients);
// clipping; the step, unless Unscale found a non-finite value; Update.
#ifndef SLIPWAY_TRAINER_PLUGIN_GRADIENT_SCALER_H_
#define SLIPWAY_TRAINER_PLUGIN_GRADIENT_SCALER_H_

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway {

// Used from the training thread. May throw c10::Error.
class GradientScaler {
 public:
  virtual ~GradientScaler();
  virtual at::Tensor Scale(const at::Tensor& loss) = 0;
  // Divides the gradients in place. A float scalar, 1 if any was non-finite.
  virtual at::Tensor Unscale(const std::vector<at::Tensor>& gradients) = 0;
  // After the step was taken or (found non-finite) left out.
  virtual void Update(bool found_non_finite) = 0;
  virtual double scale() const = 0;
  // The tensors that a checkpoint keeps, by name ("scale", "growth_tracker");
  // the scaler's own: loading writes into them.
  virtual std::vector<std::pair<std::string, at::Tensor>> State() = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_GRADIENT_SCALER_H_
