#include "plugins/vision_classification/models/efficientnet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "ATen/ops/constant_pad_nd.h"
#include "ATen/ops/sigmoid.h"
#include "ATen/ops/silu.h"
#include "plugins/vision_classification/models/parts.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::vision_classification {
namespace {

// Equal blocks of B0, of which the first has the stride.
struct Stage {
  int64_t blocks, kernel, stride, expansion, in, out;
};
constexpr Stage kStages[] = {
    {1, 3, 1, 1, 32, 16},   {2, 3, 2, 6, 16, 24},  {2, 5, 2, 6, 24, 40},
    {3, 3, 2, 6, 40, 80},   {3, 5, 1, 6, 80, 112}, {4, 5, 2, 6, 112, 192},
    {1, 3, 1, 6, 192, 320},
};

// The padding of a convolution, and what of it nn::Conv2d cannot do.
struct SamePadding {
  SamePadding(int64_t size, int64_t kernel, int64_t stride) {
    const int64_t out = (size + stride - 1) / stride;
    const int64_t pad =
        std::max<int64_t>((out - 1) * stride + kernel - size, 0);
    before = pad - pad / 2;
    after = pad / 2;
  }

  // What the convolution itself can do.
  int64_t even() const { return before == after ? before : 0; }
  // The rest.
  at::Tensor operator()(const at::Tensor& x) const {
    if (before == after) return x;
    return at::constant_pad_nd(x, {before, after, before, after}, 0);
  }

  int64_t before, after;
};

std::unique_ptr<nn::Module> Norm(const EfficientNetOptions& o,
                                 int64_t channels) {
  return nn::BatchNorm2d(
      {.features = channels, .eps = o.norm_eps, .momentum = o.norm_momentum});
}

struct BlockShape {
  int64_t in, out, kernel, stride, expansion;
  int64_t image_size;
  double drop_path;
};

class MBConvBlock : public nn::TensorModule {
 public:
  MBConvBlock(const EfficientNetOptions& o, const BlockShape& s)
      : padding_(s.image_size, s.kernel, s.stride),
        residual_(s.stride == 1 && s.in == s.out) {
    const int64_t wide = s.in * s.expansion;
    const int64_t narrow = std::max<int64_t>(1, s.in / 4);
    if (s.expansion != 1) {
      expand_conv_ = Add("_expand_conv",
                         nn::Conv2d({.in = s.in, .out = wide, .bias = false}));
      bn0_ = Add("_bn0", Norm(o, wide));
    }
    depthwise_conv_ =
        Add("_depthwise_conv", nn::Conv2d({.in = wide,
                                           .out = wide,
                                           .kernel = s.kernel,
                                           .stride = s.stride,
                                           .padding = padding_.even(),
                                           .groups = wide,
                                           .bias = false}));
    bn1_ = Add("_bn1", Norm(o, wide));
    se_pool_ = Add("_se_pool", nn::AdaptiveAvgPool2d(1));
    se_reduce_ = Add("_se_reduce", nn::Conv2d({.in = wide, .out = narrow}));
    se_expand_ = Add("_se_expand", nn::Conv2d({.in = narrow, .out = wide}));
    project_conv_ = Add("_project_conv",
                        nn::Conv2d({.in = wide, .out = s.out, .bias = false}));
    bn2_ = Add("_bn2", Norm(o, s.out));
    drop_path_ = Add("_drop_path", nn::DropPath(s.drop_path));
  }
  std::string kind() const override { return "MBConvBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& input) override {
    at::Tensor x = input;
    if (expand_conv_) x = at::silu(bn0_(expand_conv_(x)));
    x = at::silu(bn1_(depthwise_conv_(padding_(x))));
    const at::Tensor squeezed = at::silu(se_reduce_(se_pool_(x)));
    x = at::sigmoid(se_expand_(squeezed)).mul(x);
    x = bn2_(project_conv_(x));
    return residual_ ? drop_path_(x).add(input) : x;
  }

 private:
  SamePadding padding_;
  bool residual_;
  nn::Child expand_conv_, bn0_, depthwise_conv_, bn1_, se_pool_, se_reduce_,
      se_expand_, project_conv_, bn2_, drop_path_;
};

// The shapes of all blocks, in order.
std::vector<BlockShape> Blocks(const EfficientNetOptions& o) {
  const auto wide = [&](int64_t channels) {
    return MakeDivisible(static_cast<double>(channels) * o.width, o.divisor,
                         o.min_channels > 0 ? o.min_channels : o.divisor);
  };
  std::vector<BlockShape> blocks;
  int64_t size = (o.image_size + 1) / 2;
  for (const Stage& stage : kStages) {
    const auto count = static_cast<int64_t>(
        std::ceil(o.depth * static_cast<double>(stage.blocks)));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t stride = i == 0 ? stage.stride : 1;
      blocks.push_back({.in = wide(i == 0 ? stage.in : stage.out),
                        .out = wide(stage.out),
                        .kernel = stage.kernel,
                        .stride = stride,
                        .expansion = stage.expansion,
                        .image_size = size});
      size = (size + stride - 1) / stride;
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].drop_path = o.drop_path * static_cast<double>(i) /
                          static_cast<double>(blocks.size());
  }
  return blocks;
}

class EfficientNetModule : public nn::TensorModule {
 public:
  explicit EfficientNetModule(const EfficientNetOptions& o)
      : padding_(o.image_size, 3, 2) {
    const std::vector<BlockShape> shapes = Blocks(o);
    const int64_t first = shapes.front().in;
    conv_stem_ = Add("_conv_stem", nn::Conv2d({.in = o.in_channels,
                                               .out = first,
                                               .kernel = 3,
                                               .stride = 2,
                                               .padding = padding_.even(),
                                               .bias = false}));
    bn0_ = Add("_bn0", Norm(o, first));
    nn::ModuleList blocks;
    for (const BlockShape& shape : shapes) {
      blocks.push_back(std::make_unique<MBConvBlock>(o, shape));
    }
    blocks_ = Add("_blocks", nn::Sequential(std::move(blocks)));
    const int64_t last =
        MakeDivisible(1280 * o.width, o.divisor,
                      o.min_channels > 0 ? o.min_channels : o.divisor);
    conv_head_ =
        Add("_conv_head",
            nn::Conv2d({.in = shapes.back().out, .out = last, .bias = false}));
    bn1_ = Add("_bn1", Norm(o, last));
    if (!o.head) return;
    avg_pooling_ = Add("_avg_pooling", nn::AdaptiveAvgPool2d(1));
    dropout_ = Add("_dropout", nn::Dropout(o.dropout));
    fc_ = Add("_fc", nn::Linear({.in = last, .out = o.classes}));
    set_head("_fc");
  }
  std::string kind() const override { return "EfficientNet"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    at::Tensor x = at::silu(bn0_(conv_stem_(padding_(images))));
    x = at::silu(bn1_(conv_head_(blocks_(x))));
    return fc_ ? fc_(dropout_(avg_pooling_(x).flatten(1))) : x;
  }

 private:
  SamePadding padding_;
  nn::Child conv_stem_, bn0_, blocks_, conv_head_, bn1_, avg_pooling_, dropout_,
      fc_;
};

// --- from recipes ------------------------------------------------------------

struct Scale {
  const char* name;
  double width, depth;
  int64_t image_size;
  double dropout;
};
constexpr Scale kScales[] = {
    {"efficientnet_b0", 1.0, 1.0, 224, 0.2},
    {"efficientnet_b1", 1.0, 1.1, 240, 0.2},
    {"efficientnet_b2", 1.1, 1.2, 260, 0.3},
    {"efficientnet_b3", 1.2, 1.4, 300, 0.3},
    {"efficientnet_b4", 1.4, 1.8, 380, 0.4},
    {"efficientnet_b5", 1.6, 2.2, 456, 0.4},
    {"efficientnet_b6", 1.8, 2.6, 528, 0.5},
    {"efficientnet_b7", 2.0, 3.1, 600, 0.5},
    {"efficientnet_b8", 2.2, 3.6, 672, 0.5},
    {"efficientnet_l2", 4.3, 5.3, 800, 0.5},
};

// `scale` null: the recipe gives all of it.
Builder Read(const Scale* scale, recipe::Params& params) {
  recipe::DoubleRule width = {.min = 1.0 / 16, .max = 16};
  recipe::DoubleRule depth = width;
  recipe::DoubleRule dropout = {.min = 0, .max = 1};
  recipe::IntRule size = {.min = 1, .max = 100'000};
  if (scale != nullptr) {
    width.fallback = scale->width;
    depth.fallback = scale->depth;
    dropout.fallback = scale->dropout;
    size.fallback = scale->image_size;
  } else {
    size.fallback = params.Int("res", size);
  }
  EfficientNetOptions o;
  o.width = params.Double("width_coefficient", width);
  o.depth = params.Double("depth_coefficient", depth);
  o.image_size = params.Int("image_size", size);
  o.dropout = params.Double("dropout_rate", dropout);
  o.drop_path = ReadProbability(params, "drop_connect_rate", 0.2);
  o.norm_momentum = 1 - ReadProbability(params, "batch_norm_momentum", 0.99);
  o.norm_eps =
      params.Double("batch_norm_epsilon", {.fallback = 1e-3, .min = 0});
  o.divisor =
      params.Int("depth_divisor", {.fallback = 8, .min = 1, .max = 1024});
  o.min_channels =
      params.Int("min_depth", {.fallback = 0, .min = 0, .max = 10'000});
  o.head = !params.Bool("backbone_mode", false);
  o.classes = ReadClasses(params, o.head);
  o.in_channels = ReadChannels(params);
  return [o] { return EfficientNet(o); };
}

}  // namespace

std::unique_ptr<nn::Module> EfficientNet(const EfficientNetOptions& options) {
  return std::make_unique<EfficientNetModule>(options);
}

std::vector<Architecture> EfficientNetArchitectures() {
  std::vector<Architecture> architectures;
  for (const Scale& scale : kScales) {
    architectures.push_back({scale.name, [&scale](recipe::Params& params) {
                               return Read(&scale, params);
                             }});
  }
  architectures.push_back(
      {"CustomizedEfficientnet",
       [](recipe::Params& params) { return Read(nullptr, params); }});
  return architectures;
}

}  // namespace slipway::vision_classification
