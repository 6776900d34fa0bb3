#include "plugins/vision_classification/models/resnext.h"

#include <string>
#include <utility>

#include "ATen/ops/relu.h"
#include "plugins/vision_classification/models/parts.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::vision_classification {
namespace {

constexpr int64_t kExpansion = 4;

std::unique_ptr<nn::Module> Pointwise(int64_t in, int64_t out) {
  return nn::Conv2d({.in = in, .out = out, .bias = false});
}

struct BlockShape {
  int64_t in, inner, out, stride, groups;
};

std::unique_ptr<nn::Module> Downsample(const BlockShape& s) {
  nn::ModuleList layers;
  AppendConvBn(layers, {.in = s.in, .out = s.out, .stride = s.stride});
  return nn::Sequential(std::move(layers));
}

class GroupedConvBlock : public nn::TensorModule {
 public:
  explicit GroupedConvBlock(const BlockShape& s)
      : conv1_(Add("conv1", Pointwise(s.in, s.inner))),
        bn1_(Add("bn1", nn::BatchNorm2d(s.inner))),
        conv2_(Add("conv2", nn::Conv2d({.in = s.inner,
                                        .out = s.inner,
                                        .kernel = 3,
                                        .stride = s.stride,
                                        .padding = 1,
                                        .groups = s.groups,
                                        .bias = false}))),
        bn2_(Add("bn2", nn::BatchNorm2d(s.inner))),
        conv3_(Add("conv3", Pointwise(s.inner, s.out))),
        bn3_(Add("bn3", nn::BatchNorm2d(s.out))) {
    if (s.stride == 1 && s.in == s.out) return;
    downsample_ = Add("downsample", Downsample(s));
  }
  std::string kind() const override { return "GroupedConvBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = at::relu(bn1_(conv1_(x)));
    out = at::relu(bn2_(conv2_(out)));
    out = bn3_(conv3_(out));
    return at::relu(out.add(downsample_ ? downsample_(x) : x));
  }

 private:
  nn::Child conv1_, bn1_, conv2_, bn2_, conv3_, bn3_, downsample_;
};

class ResNeXtModule : public nn::TensorModule {
 public:
  explicit ResNeXtModule(const ResNeXtOptions& o) {
    int64_t channels = 64;
    conv1_ = Add("conv1", nn::Conv2d({.in = o.in_channels,
                                      .out = channels,
                                      .kernel = 7,
                                      .stride = 2,
                                      .padding = 3,
                                      .bias = false}));
    bn1_ = Add("bn1", nn::BatchNorm2d(channels));
    maxpool_ =
        Add("maxpool", nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}));
    for (int layer = 0; layer < 4; ++layer) {
      const int64_t inner = (o.groups * o.group_width) << layer;
      const int64_t out = (64 << layer) * kExpansion;
      nn::ModuleList blocks;
      for (int64_t i = 0; i < o.blocks[layer]; ++i) {
        const int64_t stride = i == 0 && layer > 0 ? 2 : 1;
        blocks.push_back(std::make_unique<GroupedConvBlock>(
            BlockShape{channels, inner, out, stride, o.groups}));
        channels = out;
      }
      layers_[layer] = Add("layer" + std::to_string(layer + 1),
                           nn::Sequential(std::move(blocks)));
    }
    avgpool_ = Add("avgpool", nn::AdaptiveAvgPool2d(1));
    fc_ = Add("fc", nn::Linear({.in = channels, .out = o.classes}));
    set_head("fc");
  }
  std::string kind() const override { return "ResNeXt"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = maxpool_(at::relu(bn1_(conv1_(x))));
    for (const nn::Child& layer : layers_) out = layer(out);
    return fc_(avgpool_(out).flatten(1));
  }

 private:
  nn::Child conv1_, bn1_, maxpool_, avgpool_, fc_;
  std::array<nn::Child, 4> layers_;
};

Builder Read(recipe::Params& params, ResNeXtOptions o) {
  o.classes = ReadClasses(params);
  o.in_channels = ReadChannels(params);
  return [o] { return ResNeXt(o); };
}

}  // namespace

std::unique_ptr<nn::Module> ResNeXt(const ResNeXtOptions& options) {
  return std::make_unique<ResNeXtModule>(options);
}

std::vector<Architecture> ResNeXtArchitectures() {
  const auto named = [](const char* name, const ResNeXtOptions& options) {
    return Architecture{
        name, [options](recipe::Params& p) { return Read(p, options); }};
  };
  return {
      named("resnext50", {.blocks = {3, 4, 6, 3}, .group_width = 4}),
      named("resnext101", {.blocks = {3, 4, 23, 3}, .group_width = 8}),
  };
}

}  // namespace slipway::vision_classification
