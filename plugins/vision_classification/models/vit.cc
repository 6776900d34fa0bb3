#include "plugins/vision_classification/models/vit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ATen/ops/cat.h"
#include "ATen/ops/randn.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/attention.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::vision_classification {
namespace {

std::unique_ptr<nn::Module> Norm(int64_t dimension) {
  return nn::LayerNorm({.shape = {dimension}, .eps = 1e-6});
}

// From images to tokens [N, patches, dimension].
class PatchEmbedding : public nn::TensorModule {
 public:
  explicit PatchEmbedding(const ViTOptions& o)
      : proj_(Add("proj", nn::Conv2d({.in = o.in_channels,
                                      .out = o.dimension,
                                      .kernel = o.patch_size,
                                      .stride = o.patch_size}))) {}
  std::string kind() const override { return "PatchEmbed"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return proj_(x).flatten(2).transpose(1, 2);
  }

 private:
  nn::Child proj_;
};

class FeedForward : public nn::TensorModule {
 public:
  explicit FeedForward(const ViTOptions& o)
      : fc1_(Add("fc1", nn::Linear({.in = o.dimension, .out = o.hidden}))),
        act_(Add("act", nn::GELU())),
        dropout_(Add("dropout", nn::Dropout(o.dropout))),
        fc2_(Add("fc2", nn::Linear({.in = o.hidden, .out = o.dimension}))) {}
  std::string kind() const override { return "FeedForward"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return dropout_(fc2_(dropout_(act_(fc1_(x)))));
  }

 private:
  nn::Child fc1_, act_, dropout_, fc2_;
};

class TransformerBlock : public nn::TensorModule {
 public:
  explicit TransformerBlock(const ViTOptions& o)
      : norm1_(Add("norm1", Norm(o.dimension))),
        attn_(Add("attn", nn::SelfAttention(
                              {.dimension = o.dimension, .heads = o.heads}))),
        norm2_(Add("norm2", Norm(o.dimension))),
        mlp_(Add("mlp", std::make_unique<FeedForward>(o))) {}
  std::string kind() const override { return "TransformerBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor attended = attn_(norm1_(x)).add(x);
    return mlp_(norm2_(attended)).add(attended);
  }

 private:
  nn::Child norm1_, attn_, norm2_, mlp_;
};

std::unique_ptr<nn::Module> Transformer(const ViTOptions& o) {
  nn::ModuleList blocks;
  for (int64_t i = 0; i < o.depth; ++i) {
    blocks.push_back(std::make_unique<TransformerBlock>(o));
  }
  nn::NamedModuleList transformer;
  transformer.emplace_back("blocks", nn::Sequential(std::move(blocks)));
  return nn::NamedSequential(std::move(transformer));
}

int64_t Patches(const ViTOptions& o) {
  const auto& [height, width] = o.image_size.value;
  const auto& [high, wide] = o.patch_size.value;
  CHECK(height % high == 0 && width % wide == 0)
      << "patches do not fill the image";
  return (height / high) * (width / wide);
}

class ViTModule : public nn::TensorModule {
 public:
  explicit ViTModule(const ViTOptions& o)
      : cls_token_(AddParameter("cls_token", at::randn({1, 1, o.dimension}))),
        pos_embedding_(AddParameter(
            "pos_embedding", at::randn({1, Patches(o) + 1, o.dimension}))),
        patch_embedding_(
            Add("patch_embedding", std::make_unique<PatchEmbedding>(o))),
        dropout_(Add("dropout", nn::Dropout(o.embedding_dropout))),
        transformer_(Add("transformer", Transformer(o))),
        pre_head_norm_(Add("pre_head_norm", Norm(o.dimension))),
        head_(Add("head", nn::Linear({.in = o.dimension, .out = o.classes}))) {
    set_head("head");
  }
  std::string kind() const override { return "ViT"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    const at::Tensor patches = patch_embedding_(images);
    // A token for each sample, without naming their number: a trace serves
    // batches of any size.
    const at::Tensor token = cls_token_.expand_as(patches.narrow(1, 0, 1));
    at::Tensor x = at::cat({token, patches}, 1);
    x = x.add(pos_embedding_.narrow(1, 0, x.size(1)));
    x = pre_head_norm_(transformer_(dropout_(x)));
    return head_(x.select(1, 0));
  }

 private:
  at::Tensor cls_token_, pos_embedding_;
  nn::Child patch_embedding_, dropout_, transformer_, pre_head_norm_, head_;
};

// --- from recipes ------------------------------------------------------------

// A height and a width, at least 1.
nn::Pair ReadPair(recipe::Params& params, std::string_view key,
                  int64_t fallback) {
  const std::vector<int64_t> pair =
      params.Ints(key, 2, std::vector<int64_t>(2, fallback));
  const bool fits =
      pair.size() == 2 && std::all_of(pair.begin(), pair.end(), [](int64_t n) {
        return n >= 1 && n <= 100'000;
      });
  if (fits) return {pair[0], pair[1]};
  params.Fail(key, "expected a height and a width of at least 1");
  return fallback;
}

Builder Read(recipe::Params& params, ViTOptions o) {
  o.image_size = ReadPair(params, "image_size", 224);
  o.patch_size = ReadPair(params, "patch_size", 16);
  for (int i = 0; i < 2; ++i) {
    if (o.image_size.value[i] % o.patch_size.value[i] == 0) continue;
    params.Fail("image_size", "patches of " +
                                  std::to_string(o.patch_size.value[i]) +
                                  " pixels do not fill images of " +
                                  std::to_string(o.image_size.value[i]));
    break;
  }
  o.classes = ReadClasses(params);
  o.in_channels = ReadChannels(params);
  o.dropout = ReadProbability(params, "dropout_prob");
  o.embedding_dropout = ReadProbability(params, "emb_dropout_prob");
  return [o] { return ViT(o); };
}

}  // namespace

std::unique_ptr<nn::Module> ViT(const ViTOptions& options) {
  return std::make_unique<ViTModule>(options);
}

std::vector<Architecture> ViTArchitectures() {
  const auto named = [](const char* name, int64_t dimension, int64_t depth,
                        int64_t heads) {
    const ViTOptions options = {.dimension = dimension,
                                .depth = depth,
                                .heads = heads,
                                .hidden = 4 * dimension};
    return Architecture{
        name, [options](recipe::Params& p) { return Read(p, options); }};
  };
  return {
      named("vit_base", 768, 12, 12),
      named("vit_large", 1024, 24, 16),
      named("vit_huge", 1280, 32, 16),
  };
}

}  // namespace slipway::vision_classification
