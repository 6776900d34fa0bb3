// RepVGG (Ding et al., "RepVGG: Making VGG-style ConvNets Great Again", 2021)
// with SuperGradients' parameter names, shapes and order: trained with
// branches, evaluated as plain 3x3 convolutions.
//
//   auto model = RepVgg({.blocks = {2, 4, 14, 1},
//                        .width = {0.75, 0.75, 0.75, 2.5}});
//   ... train ...
//   model->Train(false);
//   FuseRepVgg(*model);
//
// Names: stem and stage<i>.<j>, each with {se.{down, up}, no_conv_branch,
// branch_3x3.{conv, bn}, branch_1x1.{conv, bn}}, or fused with {se,
// rbr_reparam}; linear. Weights start as nn::Conv2d's and nn::Linear's do.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REPVGG_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REPVGG_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct RepVggOptions {
  // In each of the four stages, whose first block halves the image.
  std::array<int64_t, 4> blocks = {2, 4, 14, 1};
  // Factors of the stages' 64, 128, 256 and 512 channels.
  std::array<double, 4> width = {0.75, 0.75, 0.75, 2.5};
  int64_t classes = 1000;
  int64_t in_channels = 3;
  // Squeeze and excitation, to a sixteenth of a block's channels. (In
  // SuperGradients such networks cannot run: it counts the channels before a
  // block instead.)
  bool squeeze = false;
  // False: the last feature map comes out.
  bool head = true;
};

// From images [N, in_channels, H, W] to logits [N, classes], or without a head
// to features [N, C, H / 32, W / 32], rounded up.
std::unique_ptr<nn::Module> RepVgg(const RepVggOptions& options);

// Puts one 3x3 convolution in the place of each block's branches, in any model
// that has such blocks: the same function in evaluation mode but for rounding,
// in a third of the convolutions. The model is in evaluation mode (CHECKed)
// and cannot be trained any more: its forward pass throws c10::Error then.
void FuseRepVgg(nn::Module& model);

// repvgg_a0 to _a2, _b0 to _b3, repvgg_d2se, repvgg_custom; see models.h for
// parameters.
std::vector<Architecture> RepVggArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_REPVGG_H_
