// A dense layer: y = x W^T + b over the last dimension.
//
//   Add("linear", nn::Linear({.in = 512, .out = 10}));
#ifndef SLIPWAY_TRAINER_NN_LAYERS_LINEAR_H_
#define SLIPWAY_TRAINER_NN_LAYERS_LINEAR_H_

#include <cstdint>
#include <memory>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct LinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  bool bias = true;
};

// From [..., in] to [..., out]. Parameters "weight" [out, in] and "bias" [out]
// start as Python's do (nn::DefaultInit).
std::unique_ptr<Module> Linear(const LinearOptions& options);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_LINEAR_H_
