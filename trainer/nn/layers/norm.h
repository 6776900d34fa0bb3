// Layers that normalise activations.
//
//   Add("bn1", nn::BatchNorm2d(64));
//   Add("norm", nn::LayerNorm({.shape = {768}, .eps = 1e-6}));
//
// Where they are affine, "weight" starts as ones and "bias" as zeros.
#ifndef SLIPWAY_TRAINER_NN_LAYERS_NORM_H_
#define SLIPWAY_TRAINER_NN_LAYERS_NORM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct BatchNormOptions {
  int64_t features = 0;
  double eps = 1e-5;
  // The share of the newest batch in the running statistics; without a value
  // they are the plain average over all batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;
  // False: no running statistics; each batch is normalised by its own, in
  // evaluation too.
  bool track_running_stats = true;
};

// Ioffe and Szegedy, 2015. Normalises each channel over batch and positions: by
// the batch's own mean and biased variance in train mode, by the running ones
// in evaluation mode. Buffers: "running_mean", "running_var" (unbiased) and
// "num_batches_tracked" (int64). Train mode needs more than one value a
// channel; it throws c10::Error otherwise.
std::unique_ptr<Module> BatchNorm2d(const BatchNormOptions& options);
std::unique_ptr<Module> BatchNorm2d(int64_t features);
// For [N, C] or [N, C, L].
std::unique_ptr<Module> BatchNorm1d(const BatchNormOptions& options);

struct LayerNormOptions {
  // The last dimensions, over which each sample is normalised.
  std::vector<int64_t> shape;
  double eps = 1e-5;
  bool affine = true;
};
std::unique_ptr<Module> LayerNorm(const LayerNormOptions& options);

struct GroupNormOptions {
  // Divides `channels` (CHECKed).
  int64_t groups = 1;
  int64_t channels = 0;
  double eps = 1e-5;
  bool affine = true;
};
std::unique_ptr<Module> GroupNorm(const GroupNormOptions& options);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_NORM_H_
