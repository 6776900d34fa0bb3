#include "plugins/vision_classification/models/shufflenet.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ATen/ops/cat.h"
#include "plugins/vision_classification/models/parts.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::vision_classification {
namespace {

void AppendDepthwise(nn::ModuleList& layers, int64_t channels, int64_t stride) {
  AppendConvBn(layers, {.in = channels,
                        .out = channels,
                        .kernel = 3,
                        .stride = stride,
                        .padding = 1,
                        .groups = channels});
}

void AppendPointwise(nn::ModuleList& layers, int64_t in, int64_t out) {
  AppendConvBn(layers, {.in = in, .out = out});
  layers.push_back(nn::ReLU());
}

// The first branch is half of the channels, or a convolution of all of them
// where the image is halved.
class ShuffleBlock : public nn::TensorModule {
 public:
  ShuffleBlock(int64_t in, int64_t out, int64_t stride) {
    const int64_t half = out / 2;
    if (stride > 1) {
      nn::ModuleList first;
      AppendDepthwise(first, in, stride);
      AppendPointwise(first, in, half);
      branch1_ = Add("branch1", nn::Sequential(std::move(first)));
    }
    nn::ModuleList second;
    AppendPointwise(second, stride > 1 ? in : in / 2, half);
    AppendDepthwise(second, half, stride);
    AppendPointwise(second, half, half);
    branch2_ = Add("branch2", nn::Sequential(std::move(second)));
  }
  std::string kind() const override { return "ChannelShuffleInvertedResidual"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out;
    if (branch1_) {
      out = at::cat({branch1_(x), branch2_(x)}, 1);
    } else {
      const std::vector<at::Tensor> halves = x.chunk(2, 1);
      out = at::cat({halves[0], branch2_(halves[1])}, 1);
    }
    // The two halves, channel by channel in turn.
    return out.unflatten(1, {2, -1}).transpose(1, 2).flatten(1, 2);
  }

 private:
  nn::Child branch1_, branch2_;
};

class ShuffleNetV2Module : public nn::TensorModule {
 public:
  explicit ShuffleNetV2Module(const ShuffleNetV2Options& o) {
    nn::ModuleList first;
    AppendConvBn(first, {.in = o.in_channels,
                         .out = o.channels[0],
                         .kernel = 3,
                         .stride = 2,
                         .padding = 1});
    first.push_back(nn::ReLU());
    conv1_ = Add("conv1", nn::Sequential(std::move(first)));
    maxpool_ =
        Add("maxpool", nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}));
    for (int layer = 0; layer < 3; ++layer) {
      const int64_t out = o.channels[layer + 1];
      nn::ModuleList blocks;
      for (int64_t i = 0; i < o.blocks[layer]; ++i) {
        blocks.push_back(std::make_unique<ShuffleBlock>(
            i == 0 ? o.channels[layer] : out, out, i == 0 ? 2 : 1));
      }
      layers_[layer] = Add("layer" + std::to_string(layer + 2),
                           nn::Sequential(std::move(blocks)));
    }
    nn::ModuleList last;
    AppendPointwise(last, o.channels[3], o.channels[4]);
    conv5_ = Add("conv5", nn::Sequential(std::move(last)));
    avgpool_ = Add("avgpool", nn::AdaptiveAvgPool2d(1));
    fc_ = Add("fc", nn::Linear({.in = o.channels[4], .out = o.classes}));
    set_head("fc");
  }
  std::string kind() const override { return "ShuffleNetV2"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = maxpool_(conv1_(x));
    for (const nn::Child& layer : layers_) out = layer(out);
    return fc_(avgpool_(conv5_(out)).flatten(1));
  }

 private:
  nn::Child conv1_, maxpool_, conv5_, avgpool_, fc_;
  std::array<nn::Child, 3> layers_;
};

// --- from recipes ------------------------------------------------------------

Builder Read(recipe::Params& params, ShuffleNetV2Options o) {
  o.classes = ReadClasses(params);
  o.in_channels = ReadChannels(params);
  return [o] { return ShuffleNetV2(o); };
}

Builder ReadCustom(recipe::Params& params) {
  ShuffleNetV2Options o;
  const std::vector<int64_t> blocks = params.Ints("structure", 3);
  const std::vector<int64_t> channels = params.Ints("stages_out_channels", 5);
  const auto within = [](const std::vector<int64_t>& all, int64_t most) {
    return std::all_of(all.begin(), all.end(),
                       [&](int64_t n) { return n >= 1 && n <= most; });
  };
  if (blocks.size() == 3 && !within(blocks, 1000)) {
    params.Fail("structure", "expected 1 to 1000 blocks in each layer");
  } else if (blocks.size() == 3) {
    std::copy(blocks.begin(), blocks.end(), o.blocks.begin());
  }
  if (channels.size() == 5) {
    std::copy(channels.begin(), channels.end(), o.channels.begin());
    const bool even =
        channels[1] % 2 == 0 && channels[2] % 2 == 0 && channels[3] % 2 == 0;
    if (!even || !within(channels, 100'000)) {
      params.Fail("stages_out_channels",
                  "expected five positive numbers, the middle three even");
    }
  }
  return Read(params, o);
}

}  // namespace

std::unique_ptr<nn::Module> ShuffleNetV2(const ShuffleNetV2Options& options) {
  return std::make_unique<ShuffleNetV2Module>(options);
}

std::vector<Architecture> ShuffleNetArchitectures() {
  const auto named = [](const char* name,
                        const std::array<int64_t, 5>& channels) {
    const ShuffleNetV2Options options = {.channels = channels};
    return Architecture{
        name, [options](recipe::Params& p) { return Read(p, options); }};
  };
  return {
      named("shufflenet_v2_x0_5", {24, 48, 96, 192, 1024}),
      named("shufflenet_v2_x1_0", {24, 116, 232, 464, 1024}),
      named("shufflenet_v2_x1_5", {24, 176, 352, 704, 1024}),
      named("shufflenet_v2_x2_0", {24, 244, 488, 976, 2048}),
      {"shufflenet_v2_custom5", ReadCustom},
  };
}

}  // namespace slipway::vision_classification
