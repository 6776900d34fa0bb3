// DenseNet-BC (Huang et al., "Densely Connected Convolutional Networks", 2016)
// with SuperGradients' parameter names, shapes, order and initial weights; the
// names are also torchvision's.
//
//   auto model = DenseNet({.blocks = {6, 12, 24, 16}});
//
// Names: features.{conv0, norm0, denseblock<i>.denselayer<j>.{norm1, conv1,
// norm2, conv2}, transition<i>.{norm, conv}, norm5}, classifier.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_DENSENET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_DENSENET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct DenseNetOptions {
  // Layers in each dense block.
  std::vector<int64_t> blocks = {6, 12, 24, 16};
  // Channels that a layer adds, and those of the first convolution.
  int64_t growth = 32;
  int64_t first = 64;
  // Of a layer's inner channels over those that it adds.
  int64_t bottleneck = 4;
  // Of a layer's new features, while training.
  double dropout = 0;
  int64_t classes = 1000;
  int64_t in_channels = 3;
};

// From images [N, in_channels, H, W] to logits [N, classes]; H and W are at
// least 29 for four blocks.
std::unique_ptr<nn::Module> DenseNet(const DenseNetOptions& options);

// densenet121, densenet161, densenet169, densenet201, custom_densenet; see
// models.h for parameters.
std::vector<Architecture> DenseNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_DENSENET_H_
