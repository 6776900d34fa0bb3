// A small real training: what plugins are tried on.
//
//   loop::TrainerParts parts = SmallTraining({.batches = 4});
//
// A net with a convolution, a batch normalisation, a dropout and a dense layer
// learns to tell brighter left halves of 8x8 images from brighter right ones:
// it has parameters, buffers, randomness and momentum, so that a state that is
// not restored shows. Samples are a function of their number alone. A run of
// eight steps takes milliseconds.
#ifndef SLIPWAY_PLUGINS_TESTING_SMALL_TRAINING_H_
#define SLIPWAY_PLUGINS_TESTING_SMALL_TRAINING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/optimizer.h"

namespace slipway::testing {

// float[1, 8, 8], target 0 or 1.
std::unique_ptr<data::Dataset> SmallImages(int64_t size);

// float[n, 1, 8, 8] -> float[n, 2]. Weights are the same each time.
std::unique_ptr<nn::Module> SmallNet();

// Cross entropy.
std::unique_ptr<Loss> SmallLoss();

// Gradient descent with momentum 0.9, which is its state.
std::unique_ptr<Optimizer> SmallOptimizer(std::vector<ParameterGroup> groups);

struct SmallOptions {
  int64_t batches = 4;     // of a rank, in an epoch
  int64_t batch_size = 8;  // of a rank
  // This rank's share of the data.
  int rank = 0;
  int world_size = 1;
};

// All of the above, with two batches to validate on and without hooks.
loop::TrainerParts SmallTraining(const SmallOptions& options);

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_SMALL_TRAINING_H_
