// What is done to all gradients of a step at once.
//
//   const std::vector<at::Tensor> gradients = GradientsOf(*optimizer);
//   if (!AllFinite(gradients)) Skip();
//   ClipGradientNorm(gradients, 1.0);
//
// Functions without state; they may throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_GRADIENTS_H_
#define SLIPWAY_TRAINER_LOOP_GRADIENTS_H_

#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/plugin/optimizer.h"

namespace slipway::loop {

// The gradients of the optimizer's parameters that have one, in its order. The
// tensors are the parameters' own.
std::vector<at::Tensor> GradientsOf(const Optimizer& optimizer);

// Whether every value of `gradients` is finite. Waits for the device.
bool AllFinite(const std::vector<at::Tensor>& gradients);

// Scales `gradients` in place by min(1, max_norm / (norm + 1e-6)), where norm
// is the 2-norm of all of them as one vector, as torch's clip_grad_norm_ does.
// Returns that norm, a scalar of their type, without waiting for the device;
// it, and so the gradients, are not finite if any of them is not. An undefined
// tensor if there are no gradients.
at::Tensor ClipGradientNorm(const std::vector<at::Tensor>& gradients,
                            double max_norm);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_GRADIENTS_H_
