// MobileNetV2 (Sandler et al., "Inverted Residuals and Linear Bottlenecks",
// 2018) and MobileNetV3 (Howard et al., "Searching for MobileNetV3", 2019) with
// SuperGradients' parameter names, shapes, order and initial weights.
//
//   auto model = MobileNetV2({.classes = 1000, .dropout = 0.2});
//   auto large = MobileNetV3({.blocks = MobileNetV3Large()});
//
// Names: features.<i>.conv.<j>, classifier.<j>; V3 has a "conv" between them,
// and its squeeze-and-excitation is features.<i>.conv.<j>.fc.{0, 2}.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MOBILENET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MOBILENET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

// Some equal blocks, of which the first has the stride (1 or 2).
struct MobileNetV2Stage {
  // Of the channels within a block over those that come in.
  int64_t expansion = 6;
  int64_t channels = 0;
  int64_t blocks = 1;
  int64_t stride = 1;
  bool operator==(const MobileNetV2Stage&) const = default;
};
// The paper's table 2.
std::vector<MobileNetV2Stage> MobileNetV2Stages();

struct MobileNetV2Options {
  std::vector<MobileNetV2Stage> stages = MobileNetV2Stages();
  // Scales the channels of the stages that expand, up to multiples of 8; above
  // 1 also the last 1280.
  double width = 1;
  int64_t classes = 1000;
  int64_t in_channels = 3;
  // Before the last layer.
  double dropout = 0;
};

// From images [N, in_channels, H, W] to logits [N, classes].
std::unique_ptr<nn::Module> MobileNetV2(const MobileNetV2Options& options);

struct MobileNetV3Block {
  int64_t kernel = 3;
  // Of the channels within the block over those that come in.
  double expansion = 1;
  int64_t channels = 0;
  bool squeeze = false;
  // h-swish rather than ReLU.
  bool hardswish = false;
  int64_t stride = 1;
  bool operator==(const MobileNetV3Block&) const = default;
};
// The paper's tables 1 and 2, with the expansions that SuperGradients has.
std::vector<MobileNetV3Block> MobileNetV3Large();
std::vector<MobileNetV3Block> MobileNetV3Small();

struct MobileNetV3Options {
  std::vector<MobileNetV3Block> blocks = MobileNetV3Large();
  // Features of the classifier's hidden layer: 1280 in the large network, 1024
  // in the small one.
  int64_t hidden = 1280;
  // Scales all channels, to multiples of 8; above 1 also `hidden`.
  double width = 1;
  int64_t classes = 1000;
  int64_t in_channels = 3;
  double dropout = 0.2;
};

// From images [N, in_channels, H, W] to logits [N, classes].
std::unique_ptr<nn::Module> MobileNetV3(const MobileNetV3Options& options);

// mobilenet_v2, mobile_net_v2_135, custom_mobilenet_v2, mobilenet_v3_large,
// mobilenet_v3_small, mobilenet_v3_custom; see models.h for parameters.
std::vector<Architecture> MobileNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MOBILENET_H_
