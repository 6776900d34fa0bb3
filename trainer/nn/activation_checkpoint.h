// Activation checkpointing: memory for time (Chen et al., "Training Deep Nets
// with Sublinear Memory Cost", 2016).
//
//   for (auto& [name, block] : model.Find("layer3")->Children()) {
//     nn::CheckpointActivations(*block);
//   }
//
// Such a module keeps only its input for the backward pass, which then computes
// its forward pass once more: about a third more computation for the memory of
// everything inside.
#ifndef SLIPWAY_TRAINER_NN_ACTIVATION_CHECKPOINT_H_
#define SLIPWAY_TRAINER_NN_ACTIVATION_CHECKPOINT_H_

#include "trainer/nn/module.h"

namespace slipway::nn {

// Sets `module`'s forward wrapper. Outputs, gradients and buffers are what they
// would be without it: the second pass starts from the same random numbers and
// autocast, and what it does to buffers is undone. Works with
// at::Tensor::backward(), which adds to the gradients of all leaves, and not
// with calls that ask for the gradients of chosen tensors. `module` must
// outlive each graph that went through it, and must keep its mode and its
// parts from a forward pass to its backward pass.
void CheckpointActivations(Module& module);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_ACTIVATION_CHECKPOINT_H_
