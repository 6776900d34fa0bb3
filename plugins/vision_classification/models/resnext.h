// ResNeXt (Xie et al., "Aggregated Residual Transformations for Deep Neural
// Networks", 2016) with SuperGradients' parameter names, shapes and order,
// which are also torchvision's.
//
//   auto model = ResNeXt({.blocks = {3, 4, 6, 3}, .groups = 32,
//                         .group_width = 4});
//
// Names: conv1, bn1, layer1.<i>.{conv1, bn1, conv2, bn2, conv3, bn3,
// downsample.{0, 1}} to layer4, fc. Weights start as nn::Conv2d's and
// nn::Linear's do.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNEXT_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNEXT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct ResNeXtOptions {
  // In layer1 to layer4.
  std::array<int64_t, 4> blocks = {3, 4, 6, 3};
  // Of each block's 3x3 convolution, and the channels of a group in layer1,
  // which double from layer to layer.
  int64_t groups = 32;
  int64_t group_width = 4;
  int64_t classes = 1000;
  int64_t in_channels = 3;
};

// From images [N, in_channels, H, W] to logits [N, classes].
std::unique_ptr<nn::Module> ResNeXt(const ResNeXtOptions& options);

// resnext50, resnext101; see models.h for parameters.
std::vector<Architecture> ResNeXtArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNEXT_H_
