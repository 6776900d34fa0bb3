// Gradient clipping by total norm.
#ifndef SLIPWAY_TRAINER_LOOP_CLIP_H_
#define SLIPWAY_TRAINER_LOOP_CLIP_H_

#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway::loop {

// Scales `gradients` in place by min(1, max_norm / (norm + 1e-6)), where norm
// is the 2-norm of all of them as one vector, as torch's clip_grad_norm_ does.
// Returns that norm, a scalar of their type, without waiting for the device;
// it, and so the gradients, are not finite if any of them is not. An undefined
// tensor if there are no gradients. May throw c10::Error.
at::Tensor ClipGradientNorm(const std::vector<at::Tensor>& gradients,
                            double max_norm);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_CLIP_H_
