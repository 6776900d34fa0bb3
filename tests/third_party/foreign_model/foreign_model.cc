// The MLP-Mixer: Tolstikhin et al., "MLP-Mixer: An all-MLP Architecture for
// Vision", 2021. In a recipe: architecture: mlp_mixer, with arch_params
// num_classes, in_channels, image_size, patch_size, dim, depth.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ATen/TensorOperators.h"
#include "ATen/ops/gelu.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

namespace nn = slipway::nn;

class Mlp : public nn::TensorModule {
 public:
  Mlp(int64_t dim, int64_t hidden)
      : fc1_(Add("fc1", nn::Linear({.in = dim, .out = hidden}))),
        fc2_(Add("fc2", nn::Linear({.in = hidden, .out = dim}))) {}
  std::string kind() const override { return "Mlp"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return fc2_(at::gelu(fc1_(x)));
  }

 private:
  nn::Child fc1_, fc2_;
};

// Mixes positions, then channels, of [batch, positions, channels].
class MixerBlock : public nn::TensorModule {
 public:
  MixerBlock(int64_t positions, int64_t dim)
      : norm1_(Add("norm1", nn::LayerNorm({.shape = {dim}}))),
        tokens_(
            Add("mlp_tokens", std::make_unique<Mlp>(positions, 2 * positions))),
        norm2_(Add("norm2", nn::LayerNorm({.shape = {dim}}))),
        channels_(Add("mlp_channels", std::make_unique<Mlp>(dim, 4 * dim))) {}
  std::string kind() const override { return "MixerBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor y = x + tokens_(norm1_(x).transpose(1, 2)).transpose(1, 2);
    return y + channels_(norm2_(y));
  }

 private:
  nn::Child norm1_, tokens_, norm2_, channels_;
};

struct MixerOptions {
  int64_t classes, channels, image, patch, dim, depth;
};

class MlpMixer : public nn::TensorModule {
 public:
  explicit MlpMixer(const MixerOptions& o)
      : stem_(Add("stem", nn::Conv2d({.in = o.channels,
                                      .out = o.dim,
                                      .kernel = o.patch,
                                      .stride = o.patch}))) {
    const int64_t side = o.image / o.patch;
    nn::ModuleList blocks;
    for (int64_t i = 0; i < o.depth; ++i) {
      blocks.push_back(std::make_unique<MixerBlock>(side * side, o.dim));
    }
    blocks_ = Add("blocks", nn::Sequential(std::move(blocks)));
    norm_ = Add("norm", nn::LayerNorm({.shape = {o.dim}}));
    head_ = Add("head", nn::Linear({.in = o.dim, .out = o.classes}));
    set_head("head");
  }
  std::string kind() const override { return "MlpMixer"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor positions = stem_(x).flatten(2).transpose(1, 2);
    return head_(norm_(blocks_(positions)).mean(1));
  }

 private:
  nn::Child stem_, blocks_, norm_, head_;
};

std::unique_ptr<nn::Module> BuildMlpMixer(const slipway::BuildArgs& args) {
  const size_t before = args.problems.size();
  slipway::recipe::Params params(args.params, "model mlp_mixer", args.problems);
  MixerOptions o = {};
  o.classes = params.Int("num_classes", {.min = 1});
  o.channels = params.Int("in_channels", {.fallback = 3, .min = 1});
  o.image = params.Int("image_size", {.min = 1});
  o.patch = params.Int("patch_size", {.fallback = 4, .min = 1});
  o.dim = params.Int("dim", {.fallback = 64, .min = 1});
  o.depth = params.Int("depth", {.fallback = 4, .min = 1});
  params.Finish();
  if (args.problems.size() == before && o.image % o.patch != 0) {
    params.Fail("patch_size", "image_size is no multiple of patch_size");
  }
  if (args.problems.size() != before) return nullptr;
  return std::make_unique<MlpMixer>(o);
}

class ForeignModel : public slipway::Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& /*config*/) {
    return std::make_unique<ForeignModel>();
  }
  void Register(slipway::Components& components) override {
    components.models.Add("mlp_mixer", BuildMlpMixer);
  }
};

}  // namespace

SLIPWAY_PLUGIN("com.example.foreign_model", "1.0.0", ForeignModel);
