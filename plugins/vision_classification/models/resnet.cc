#include "plugins/vision_classification/models/resnet.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ATen/ops/relu.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::vision_classification {
namespace {

int64_t Expansion(ResNetBlock block) {
  return block == ResNetBlock::kBottleneck ? 4 : 1;
}

// Convolutions before a normalisation need no bias; their padding keeps the
// size, but for the stride.
std::unique_ptr<nn::Module> Conv(int64_t in, int64_t out, int64_t kernel,
                                 int64_t stride = 1) {
  return nn::Conv2d({.in = in,
                     .out = out,
                     .kernel = kernel,
                     .stride = stride,
                     .padding = kernel / 2,
                     .bias = false});
}

struct BlockShape {
  int64_t in, channels, stride;
  double drop_path;
};

// The identity where shapes agree, else a 1x1 projection.
std::unique_ptr<nn::Module> Shortcut(const BlockShape& shape, int64_t out) {
  if (shape.stride == 1 && shape.in == out) return nn::Sequential();
  return nn::Sequential(Conv(shape.in, out, 1, shape.stride),
                        nn::BatchNorm2d(out));
}

class BasicBlock : public nn::TensorModule {
 public:
  explicit BasicBlock(const BlockShape& s)
      : conv1_(Add("conv1", Conv(s.in, s.channels, 3, s.stride))),
        bn1_(Add("bn1", nn::BatchNorm2d(s.channels))),
        conv2_(Add("conv2", Conv(s.channels, s.channels, 3))),
        bn2_(Add("bn2", nn::BatchNorm2d(s.channels))),
        drop_path_(Add("drop_path", nn::DropPath(s.drop_path))),
        shortcut_(Add("shortcut", Shortcut(s, s.channels))) {}
  std::string kind() const override { return "BasicResNetBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = at::relu(bn1_(conv1_(x)));
    out = bn2_(conv2_(out));
    return at::relu(drop_path_(out).add(shortcut_(x)));
  }

 private:
  nn::Child conv1_, bn1_, conv2_, bn2_, drop_path_, shortcut_;
};

class Bottleneck : public nn::TensorModule {
 public:
  explicit Bottleneck(const BlockShape& s, int64_t out)
      : conv1_(Add("conv1", Conv(s.in, s.channels, 1))),
        bn1_(Add("bn1", nn::BatchNorm2d(s.channels))),
        conv2_(Add("conv2", Conv(s.channels, s.channels, 3, s.stride))),
        bn2_(Add("bn2", nn::BatchNorm2d(s.channels))),
        conv3_(Add("conv3", Conv(s.channels, out, 1))),
        bn3_(Add("bn3", nn::BatchNorm2d(out))),
        drop_path_(Add("drop_path", nn::DropPath(s.drop_path))),
        shortcut_(Add("shortcut", Shortcut(s, out))) {}
  std::string kind() const override { return "Bottleneck"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = at::relu(bn1_(conv1_(x)));
    out = at::relu(bn2_(conv2_(out)));
    out = bn3_(conv3_(out));
    return at::relu(drop_path_(out).add(shortcut_(x)));
  }

 private:
  nn::Child conv1_, bn1_, conv2_, bn2_, conv3_, bn3_, drop_path_, shortcut_;
};

// Builds layer1 to layer4 and knows how many channels come out so far.
class LayerBuilder {
 public:
  LayerBuilder(const ResNetOptions& options, int64_t channels)
      : options_(options), in_(channels) {}

  std::unique_ptr<nn::Module> Layer(int64_t channels, int64_t blocks,
                                    int64_t stride) {
    nn::ModuleList layer;
    if (blocks == 0 && (stride != 1 || in_ != channels)) {
      layer.push_back(nn::Sequential(Conv(in_, channels, 3, stride),
                                     nn::BatchNorm2d(channels)));
      in_ = channels;
    }
    for (int64_t i = 0; i < blocks; ++i) {
      layer.push_back(Block(channels, i == 0 ? stride : 1));
    }
    return nn::Sequential(std::move(layer));
  }
  int64_t channels() const { return in_; }

 private:
  std::unique_ptr<nn::Module> Block(int64_t channels, int64_t stride) {
    const BlockShape shape = {in_, channels, stride, options_.drop_path};
    in_ = channels * Expansion(options_.block);
    if (options_.block == ResNetBlock::kBasic) {
      return std::make_unique<BasicBlock>(shape);
    }
    return std::make_unique<Bottleneck>(shape, in_);
  }

  const ResNetOptions& options_;
  int64_t in_;
};

class ResNetModule : public nn::TensorModule {
 public:
  explicit ResNetModule(const ResNetOptions& options) {
    const auto scaled = [&](int64_t channels) {
      return static_cast<int64_t>(channels * options.width);
    };
    const bool cifar = options.stem == ResNetStem::kCifar;
    const int64_t first = scaled(64);
    conv1_ = Add("conv1", cifar ? Conv(options.in_channels, first, 3)
                                : Conv(options.in_channels, first, 7, 2));
    bn1_ = Add("bn1", nn::BatchNorm2d(first));
    if (!cifar) {
      maxpool_ = Add("maxpool",
                     nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}));
    }
    LayerBuilder builder(options, first);
    for (int i = 0; i < 4; ++i) {
      layers_[i] = Add(
          "layer" + std::to_string(i + 1),
          builder.Layer(scaled(64 << i), options.blocks[i], i == 0 ? 1 : 2));
    }
    if (!options.head) return;
    avgpool_ = Add("avgpool", nn::AdaptiveAvgPool2d(1));
    linear_ =
        Add("linear",
            nn::Linear({.in = builder.channels(), .out = options.classes}));
    set_head("linear");
  }
  std::string kind() const override { return "ResNet"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = at::relu(bn1_(conv1_(x)));
    if (maxpool_) out = maxpool_(out);
    for (const nn::Child& layer : layers_) out = layer(out);
    return linear_ ? linear_(avgpool_(out).flatten(1)) : out;
  }

 private:
  nn::Child conv1_, bn1_, maxpool_, avgpool_, linear_;
  std::array<nn::Child, 4> layers_;
};

// --- from recipes ------------------------------------------------------------

// A zero depth is one that the recipe gives.
constexpr std::array<int64_t, 4> kFromRecipe = {};

struct Depth {
  std::string_view name;
  ResNetBlock block;
  ResNetStem stem;
  std::array<int64_t, 4> blocks;
};

constexpr auto kBasic = ResNetBlock::kBasic;
constexpr auto kBottleneck = ResNetBlock::kBottleneck;
constexpr auto kImageNet = ResNetStem::kImageNet;
constexpr auto kCifar = ResNetStem::kCifar;

constexpr Depth kDepths[] = {
    {"resnet18", kBasic, kImageNet, {2, 2, 2, 2}},
    {"resnet34", kBasic, kImageNet, {3, 4, 6, 3}},
    {"resnet50", kBottleneck, kImageNet, {3, 4, 6, 3}},
    {"resnet50_3343", kBottleneck, kImageNet, {3, 3, 4, 3}},
    {"resnet101", kBottleneck, kImageNet, {3, 4, 23, 3}},
    {"resnet152", kBottleneck, kImageNet, {3, 8, 36, 3}},
    {"resnet18_cifar", kBasic, kCifar, {2, 2, 2, 2}},
    {"custom_resnet", kBasic, kImageNet, kFromRecipe},
    {"custom_resnet50", kBottleneck, kImageNet, kFromRecipe},
    {"custom_resnet_cifar", kBasic, kCifar, kFromRecipe},
    {"custom_resnet50_cifar", kBottleneck, kCifar, kFromRecipe},
};

void ReadCustom(recipe::Params& params, ResNetOptions& options) {
  constexpr int64_t kLongest = 1000;
  const std::vector<int64_t> structure = params.Ints("structure", 4);
  if (structure.size() == 4) {
    std::copy(structure.begin(), structure.end(), options.blocks.begin());
  }
  for (int64_t blocks : structure) {
    if (blocks >= 0 && blocks <= kLongest) continue;
    params.Fail("structure", "the number of blocks " + std::to_string(blocks) +
                                 " is not between 0 and 1000");
  }
  options.width = params.Double("width_mult", {.min = 1.0 / 64, .max = 16});
}

Builder Read(const Depth& depth, recipe::Params& params) {
  ResNetOptions options = {
      .block = depth.block, .stem = depth.stem, .blocks = depth.blocks};
  if (options.blocks == kFromRecipe) ReadCustom(params, options);
  if (options.stem == ResNetStem::kImageNet) {
    options.drop_path = ReadProbability(params, "droppath_prob");
    options.head = !params.Bool("backbone_mode", false);
  }
  options.classes = ReadClasses(params, options.head);
  options.in_channels = ReadChannels(params);
  return [options] { return ResNet(options); };
}

}  // namespace

std::unique_ptr<nn::Module> ResNet(const ResNetOptions& options) {
  return std::make_unique<ResNetModule>(options);
}

std::vector<Architecture> ResNetArchitectures() {
  std::vector<Architecture> architectures;
  for (const Depth& depth : kDepths) {
    architectures.push_back(
        {std::string(depth.name),
         [&depth](recipe::Params& params) { return Read(depth, params); }});
  }
  return architectures;
}

}  // namespace slipway::vision_classification
