// Vision transformers (Dosovitskiy et al., "An Image is Worth 16x16 Words",
// 2020) with SuperGradients' parameter names, shapes, order and initial
// weights.
//
//   auto base = ViT({});
//   auto large = ViT({.dimension = 1024, .depth = 24, .heads = 16,
//                     .hidden = 4096});
//
// Names: cls_token, pos_embedding, patch_embedding.proj,
// transformer.blocks.<i>.{norm1, attn.{to_qkv, proj}, norm2, mlp.{fc1, fc2}},
// pre_head_norm, head.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_VIT_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_VIT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vision_classification/models/architecture.h"
#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

struct ViTOptions {
  // Images are cut into patches, which fit in without a rest (CHECKed).
  nn::Pair image_size = 224;
  nn::Pair patch_size = 16;
  // Of a token: a multiple of `heads`.
  int64_t dimension = 768;
  int64_t depth = 12;
  int64_t heads = 12;
  // Of the hidden layer in each block.
  int64_t hidden = 3072;
  int64_t classes = 1000;
  int64_t in_channels = 3;
  // Of the hidden layers and of the embedded patches.
  double dropout = 0;
  double embedding_dropout = 0;
};

// From images [N, in_channels, H, W] to logits [N, classes]. Smaller images use
// the first positions.
std::unique_ptr<nn::Module> ViT(const ViTOptions& options);

// vit_base, vit_large, vit_huge; see models.h for parameters.
std::vector<Architecture> ViTArchitectures();

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_VIT_H_
