// ShuffleNetV2 (Ma et al., "ShuffleNet V2: Practical Guidelines for Efficient
// CNN Architecture Design", 2018) with SuperGradients' parameter names, shapes
// and order.
//
//   auto model = ShuffleNetV2({.channels = {24, 116, 232, 464, 1024}});
//
// Names: conv1.{0, 1}, layer2.<i>.{branch1.<j>, branch2.<j>} to layer4,
// conv5.{0, 1}, fc. Weights start as nn::Conv2d's and nn::Linear's do.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_SHUFFLENET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_SHUFFLENET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct ShuffleNetV2Options {
  // In layer2 to layer4, whose first block halves the image.
  std::array<int64_t, 3> blocks = {4, 8, 4};
  // Of the first convolution, of layer2 to layer4 (even) and of the last.
  std::array<int64_t, 5> channels = {24, 116, 232, 464, 1024};
  int64_t classes = 1000;
  int64_t in_channels = 3;
};

// From images [N, in_channels, H, W] to logits [N, classes].
std::unique_ptr<nn::Module> ShuffleNetV2(const ShuffleNetV2Options& options);

// shufflenet_v2_x0_5, _x1_0, _x1_5, _x2_0, shufflenet_v2_custom5; see models.h
// for parameters.
std::vector<Architecture> ShuffleNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_SHUFFLENET_H_
