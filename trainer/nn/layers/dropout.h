// Layers that drop parts of their input at random while training.
//
//   Add("dropout", nn::Dropout(0.5));
//   Add("drop_path", nn::DropPath(0.05));
//
// Both are the identity in evaluation mode and at probability 0. They draw from
// the default generator of the input's device. A probability lies in [0, 1]
// (CHECKed).
#ifndef SLIPWAY_TRAINER_NN_LAYERS_DROPOUT_H_
#define SLIPWAY_TRAINER_NN_LAYERS_DROPOUT_H_

#include <memory>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct DropoutOptions {
  double probability = 0.5;
};
// Zeroes single elements and divides the others by 1 - probability.
std::unique_ptr<Module> Dropout(double probability = 0.5);

struct DropPathOptions {
  double probability = 0;
};
// Stochastic depth (Huang et al., "Deep Networks with Stochastic Depth", 2016):
// zeroes whole samples of the branch of a residual block and divides the others
// by 1 - probability.
std::unique_ptr<Module> DropPath(double probability);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_DROPOUT_H_
