#include "tests/perf/nets.h"

#include <utility>

#include "ATen/ops/gelu.h"
#include "ATen/ops/hardswish.h"
#include "ATen/ops/sigmoid.h"
#include "ATen/ops/tanh.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/models/resnet.h"
#include "trainer/nn/layers/attention.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::perf {
namespace {

class TinyViT : public nn::TensorModule {
 public:
  static constexpr int64_t kWidth = 192;

  TinyViT()
      : patches_(Add(
            "patches",
            nn::Conv2d({.in = 3, .out = kWidth, .kernel = 16, .stride = 16}))),
        head_(Add("head", nn::Linear({.in = kWidth, .out = kClasses}))) {
    for (int i = 0; i < 12; ++i) {
      const auto add = [&](const char* name, auto module) {
        return Add(absl::StrCat("block", i, name), std::move(module));
      };
      blocks_.push_back(
          {add("norm1", nn::LayerNorm({.shape = {kWidth}})),
           add("attention",
               nn::SelfAttention({.dimension = kWidth, .heads = 3})),
           add("norm2", nn::LayerNorm({.shape = {kWidth}})),
           add("wide", nn::Linear({.in = kWidth, .out = 4 * kWidth})),
           add("narrow", nn::Linear({.in = 4 * kWidth, .out = kWidth}))});
    }
  }
  std::string kind() const override { return "TinyViT"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    at::Tensor x = patches_(images).flatten(2).transpose(1, 2);
    for (const Block& block : blocks_) {
      x = x.add(block.attention(block.norm1(x)));
      x = x.add(block.narrow(at::gelu(block.wide(block.norm2(x)))));
    }
    return head_(x.mean(1));
  }

 private:
  struct Block {
    nn::Child norm1, attention, norm2, wide, narrow;
  };
  nn::Child patches_, head_;
  std::vector<Block> blocks_;
};

class Pointwise : public nn::TensorModule {
 public:
  static constexpr int64_t kWidth = 32;

  Pointwise()
      : stem_(Add(
            "stem",
            nn::Conv2d({.in = 3, .out = kWidth, .kernel = 4, .stride = 4}))),
        head_(Add("head", nn::Linear({.in = kWidth, .out = kClasses}))) {
    for (int i = 0; i < 6; ++i) {
      convolutions_.push_back(
          Add(absl::StrCat("conv", i), nn::Conv2d({.in = kWidth,
                                                   .out = kWidth,
                                                   .kernel = 3,
                                                   .padding = 1,
                                                   .groups = kWidth})));
      norms_.push_back(Add(absl::StrCat("norm", i), nn::BatchNorm2d(kWidth)));
    }
  }
  std::string kind() const override { return "Pointwise"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    at::Tensor x = stem_(images);
    for (size_t i = 0; i < norms_.size(); ++i) {
      at::Tensor y = norms_[i](convolutions_[i](x));
      y = y.mul(at::sigmoid(y));
      y = at::gelu(y).mul(at::tanh(y.mul(0.5).add(0.1)));
      x = x.add(at::hardswish(y).mul(at::sigmoid(x.mul(0.7))));
    }
    return head_(x.mean({2, 3}));
  }

 private:
  nn::Child stem_, head_;
  std::vector<nn::Child> convolutions_, norms_;
};

std::unique_ptr<nn::Module> ResNet18() {
  using vision_classification::ResNetBlock;
  return vision_classification::ResNet({.block = ResNetBlock::kBasic,
                                        .blocks = {2, 2, 2, 2},
                                        .classes = kClasses});
}

}  // namespace

std::vector<Net> AllNets() {
  return {{"resnet18", ResNet18, {8, 3, 64, 64}},
          {"vit_tiny", std::make_unique<TinyViT>, {8, 3, 64, 64}},
          {"pointwise", std::make_unique<Pointwise>, {16, 3, 192, 192}}};
}

}  // namespace slipway::perf
