// Residual networks (He et al., "Deep Residual Learning for Image
// Recognition", 2015) with SuperGradients' parameter names, shapes and order,
// so that its checkpoints fit.
//
//   auto model = ResNet({.block = ResNetBlock::kBottleneck,
//                        .blocks = {3, 4, 6, 3},
//                        .classes = 1000});
//
// Names: conv1, bn1, layer1.<i>.{conv1, bn1, conv2, bn2[, conv3, bn3],
// shortcut.{0, 1}} to layer4, linear.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

enum class ResNetBlock {
  kBasic,       // two 3x3 convolutions
  kBottleneck,  // 1x1, 3x3, 1x1; four times the channels come out
};

enum class ResNetStem {
  kImageNet,  // a 7x7 convolution and a pooling: a quarter of the size
  kCifar,     // a 3x3 convolution: the size is kept
};

struct ResNetOptions {
  ResNetBlock block = ResNetBlock::kBasic;
  ResNetStem stem = ResNetStem::kImageNet;
  // Blocks in layer1 to layer4. A layer without blocks is one convolution
  // where the size or the number of channels changes there, else nothing.
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};
  int64_t classes = 10;
  int64_t in_channels = 3;
  // Scales the 64, 128, 256 and 512 channels; at least 1/64.
  double width = 1;
  // The probability with which a block's branch is dropped while training.
  double drop_path = 0;
  // False: no average and no linear layer; the last feature map comes out.
  bool head = true;
};

// From images [N, in_channels, H, W] to logits [N, classes], or without a head
// to features [N, C, H / 32, W / 32] (H / 8 with the CIFAR stem), rounded up.
std::unique_ptr<nn::Module> ResNet(const ResNetOptions& options);

// resnet18, resnet34, resnet50, resnet50_3343, resnet101, resnet152,
// resnet18_cifar, and custom_resnet, custom_resnet50, custom_resnet_cifar,
// custom_resnet50_cifar, which take their depth and width from the recipe; see
// models.h for parameters.
std::vector<Architecture> ResNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_RESNET_H_
