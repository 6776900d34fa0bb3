// Layers that compute nothing: they pass on, or change, a tensor's shape.
//
//   model.Replace("layer1.0.bn2", nn::Identity());
#ifndef SLIPWAY_TRAINER_NN_LAYERS_SHAPE_H_
#define SLIPWAY_TRAINER_NN_LAYERS_SHAPE_H_

#include <cstdint>
#include <memory>

#include "trainer/nn/module.h"

namespace slipway::nn {

// Returns its input, of whatever kind.
std::unique_ptr<Module> Identity();

// Merges the dimensions `first` to `last`, both included; negative ones count
// from the end. By default [N, ...] becomes [N, product].
std::unique_ptr<Module> Flatten(int64_t first = 1, int64_t last = -1);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_SHAPE_H_
