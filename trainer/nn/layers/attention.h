// Self-attention as vision transformers use it.
//
//   Add("attn", nn::SelfAttention({.dimension = 768, .heads = 12}));
#ifndef SLIPWAY_TRAINER_NN_LAYERS_ATTENTION_H_
#define SLIPWAY_TRAINER_NN_LAYERS_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct SelfAttentionOptions {
  // A multiple of `heads` (CHECKed).
  int64_t dimension = 0;
  int64_t heads = 8;
  bool qkv_bias = true;
  // The share of attention weights that is dropped while training.
  double dropout = 0;
  // The name of the first child: "to_qkv" in SuperGradients, "qkv" in timm.
  std::string qkv_name = "to_qkv";
};

// Vaswani et al., "Attention Is All You Need", 2017: every token of
// [N, tokens, dimension] attends to all of its sample, with the scale
// 1 / sqrt(dimension / heads). Children: one Linear that gives queries, keys
// and values (3 x dimension), and the Linear "proj" over the joined heads.
std::unique_ptr<Module> SelfAttention(const SelfAttentionOptions& options);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_ATTENTION_H_
