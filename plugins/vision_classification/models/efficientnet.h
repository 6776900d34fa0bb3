// EfficientNet (Tan and Le, "EfficientNet: Rethinking Model Scaling for
// Convolutional Neural Networks", 2019) with SuperGradients' parameter names,
// shapes and order.
//
//   auto b0 = EfficientNet({});
//   auto b3 = EfficientNet({.width = 1.2, .depth = 1.4, .image_size = 300,
//                           .dropout = 0.3});
//
// Names: _conv_stem, _bn0, _blocks.<i>.{_expand_conv, _bn0, _depthwise_conv,
// _bn1, _se_reduce, _se_expand, _project_conv, _bn2}, _conv_head, _bn1, _fc.
// Weights start as nn::Conv2d's and nn::Linear's do.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_EFFICIENTNET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_EFFICIENTNET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct EfficientNetOptions {
  // Factors of B0's channels and of its blocks in each stage.
  double width = 1;
  double depth = 1;
  // The height and width for which paddings are made, as in TensorFlow: they
  // keep the size but for strides, with one more row above than below where
  // that does not come out even. Other images run with the same paddings.
  int64_t image_size = 224;
  int64_t classes = 1000;
  int64_t in_channels = 3;
  // Before the last layer.
  double dropout = 0.2;
  // With which the last block's branch would be dropped while training; it
  // grows linearly from 0 at the first block.
  double drop_path = 0.2;
  // The share of the newest batch in the running statistics, and what is added
  // to a variance.
  double norm_momentum = 0.01;
  double norm_eps = 1e-3;
  // Channels are multiples of `divisor` and at least `min_channels` (0:
  // `divisor`).
  int64_t divisor = 8;
  int64_t min_channels = 0;
  // False: the last feature map comes out.
  bool head = true;
};

// From images [N, in_channels, H, W] to logits [N, classes], or without a head
// to features [N, C, H / 32, W / 32].
std::unique_ptr<nn::Module> EfficientNet(const EfficientNetOptions& options);

// efficientnet_b0 to _b8, efficientnet_l2, CustomizedEfficientnet; see models.h
// for parameters.
std::vector<Architecture> EfficientNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_EFFICIENTNET_H_
