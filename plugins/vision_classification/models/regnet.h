// RegNet (Radosavovic et al., "Designing Network Design Spaces", 2020) with
// SuperGradients' parameter names, shapes, order and initial weights.
//
//   auto model = RegNet({.stages = RegNetStages({.initial_width = 56,
//                                                .slope = 39,
//                                                .quantum = 2.4,
//                                                .depth = 14}),
//                        .group_width = 16,
//                        .squeeze = 4});
//
// Names: net.stem.{conv, bn}, net.stage_<i>.blocks.block_<j>.{conv_block_1.{0,
// 1}, conv_block_2.{0, 1}, se.{1, 3}, conv_block_3.{0, 1}, shortcut.{0, 1}},
// net.head.fc.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REGNET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REGNET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct RegNetStage {
  int64_t blocks = 1;
  // Channels that come out.
  int64_t width = 0;
  bool operator==(const RegNetStage&) const = default;
};

// A network as a point of the design space: block j of `depth` would have
// initial_width + slope * j channels; they are rounded to powers of `quantum`
// times initial_width, then to multiples of 8, and equal ones make a stage.
struct RegNetSpace {
  double initial_width = 24;
  double slope = 36;
  double quantum = 2.5;  // above 1
  int64_t depth = 13;
  int64_t bottleneck = 1;
  int64_t group_width = 8;
};
std::vector<RegNetStage> RegNetStages(const RegNetSpace& space);

struct RegNetOptions {
  std::vector<RegNetStage> stages;
  // A block's inner convolution has width / bottleneck channels, a multiple of
  // `group_width`, in groups of that many.
  int64_t bottleneck = 1;
  int64_t group_width = 8;
  // Squeeze and excitation: of the channels that come into a block over those
  // of the squeezed; 0: none, as in RegNetX.
  int64_t squeeze = 0;
  // Of each stage's first block.
  int64_t stride = 2;
  int64_t classes = 1000;
  int64_t in_channels = 3;
  // Before the last layer, and of dropping a block's branch while training.
  double dropout = 0;
  double drop_path = 0;
  // False: the last feature map comes out.
  bool head = true;
};

// From images [N, in_channels, H, W] to logits [N, classes], or without a head
// to features [N, C, H', W'].
std::unique_ptr<nn::Module> RegNet(const RegNetOptions& options);

// regnetY200 to regnetY800, custom_regnet, custom_anynet, nas_regnet; see
// models.h for parameters.
std::vector<Architecture> RegNetArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REGNET_H_
