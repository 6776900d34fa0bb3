// The state of LibTorch's default random generators, which initialisers and
// dropout draw from.
//
//   const at::Tensor before = nn::GeneratorState(at::kCPU);
//   model.Run(images);                               // draws for dropout
//   nn::SetGeneratorState(at::kCPU, before);         // as if it had not
#ifndef SLIPWAY_TRAINER_NN_GENERATOR_STATE_H_
#define SLIPWAY_TRAINER_NN_GENERATOR_STATE_H_

#include "ATen/core/Tensor.h"

namespace slipway::nn {

// A copy, as bytes. From any thread.
at::Tensor GeneratorState(at::Device device);
// Throws c10::Error for bytes that are no state of such a device's generator.
void SetGeneratorState(at::Device device, const at::Tensor& state);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_GENERATOR_STATE_H_
