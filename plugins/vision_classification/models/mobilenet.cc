#include "plugins/vision_classification/models/mobilenet.h"

#include <cmath>
#include <string>
#include <utility>

#include "plugins/vision_classification/models/parts.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::vision_classification {
namespace {

// --- version 2 ---------------------------------------------------------------

void AppendRelu6(nn::ModuleList& layers, const nn::Conv2dOptions& conv) {
  AppendConvBn(layers, conv);
  layers.push_back(nn::ReLU6());
}

std::unique_ptr<nn::Module> BlockV2(int64_t in, int64_t expansion, int64_t out,
                                    int64_t stride) {
  const int64_t hidden = in * expansion;
  nn::ModuleList layers;
  if (expansion != 1) AppendRelu6(layers, {.in = in, .out = hidden});
  AppendRelu6(layers, {.in = hidden,
                       .out = hidden,
                       .kernel = 3,
                       .stride = stride,
                       .padding = 1,
                       .groups = hidden});
  AppendConvBn(layers, {.in = hidden, .out = out});
  return InvertedResidual(std::move(layers), stride == 1 && in == out);
}

int64_t RoundUp(double channels) {
  return static_cast<int64_t>(std::ceil(channels / 8)) * 8;
}

class MobileNetV2Module : public nn::TensorModule {
 public:
  explicit MobileNetV2Module(const MobileNetV2Options& o) {
    constexpr int64_t kFirst = 32;
    constexpr int64_t kLast = 1280;
    const int64_t last = o.width > 1 ? RoundUp(kLast * o.width) : kLast;
    nn::ModuleList features;
    features.push_back(First(o.in_channels, kFirst));
    int64_t channels = kFirst;
    for (const MobileNetV2Stage& stage : o.stages) {
      const double wide = static_cast<double>(stage.channels) * o.width;
      const int64_t out = stage.expansion > 1 ? RoundUp(wide) : stage.channels;
      for (int64_t i = 0; i < stage.blocks; ++i) {
        features.push_back(
            BlockV2(channels, stage.expansion, out, i == 0 ? stage.stride : 1));
        channels = out;
      }
    }
    nn::ModuleList widen;
    AppendRelu6(widen, {.in = channels, .out = last});
    features.push_back(nn::Sequential(std::move(widen)));
    features_ = Add("features", nn::Sequential(std::move(features)));
    classifier_ =
        Add("classifier",
            nn::Sequential(nn::Dropout(o.dropout),
                           nn::Linear({.in = last, .out = o.classes})));
    set_head("classifier.1");
    InitByFanOut(*this);
  }
  std::string kind() const override { return "MobileNetV2"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return classifier_(features_(x).mean(at::IntArrayRef{2, 3}));
  }

 private:
  static std::unique_ptr<nn::Module> First(int64_t in, int64_t out) {
    nn::ModuleList layers;
    AppendRelu6(layers,
                {.in = in, .out = out, .kernel = 3, .stride = 2, .padding = 1});
    return nn::Sequential(std::move(layers));
  }

  nn::Child features_, classifier_;
};

// --- version 3 ---------------------------------------------------------------

// Weighs each channel by what all of them are on average.
class SqueezeExcitation : public nn::TensorModule {
 public:
  explicit SqueezeExcitation(int64_t channels)
      : avg_pool_(Add("avg_pool", nn::AdaptiveAvgPool2d(1))),
        fc_(Add("fc", Layers(channels, MakeDivisible(static_cast<double>(
                                           channels / kReduction))))) {}
  std::string kind() const override { return "SELayer"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor weights = fc_(avg_pool_(x).flatten(1));
    return x.mul(weights.unsqueeze(2).unsqueeze(3));
  }

 private:
  static constexpr int64_t kReduction = 4;

  static std::unique_ptr<nn::Module> Layers(int64_t channels, int64_t hidden) {
    return nn::Sequential(
        nn::Linear({.in = channels, .out = hidden}), nn::ReLU(),
        nn::Linear({.in = hidden, .out = channels}), nn::Hardsigmoid());
  }

  nn::Child avg_pool_, fc_;
};

std::unique_ptr<nn::Module> BlockV3(int64_t in, int64_t hidden, int64_t out,
                                    const MobileNetV3Block& block) {
  const auto activation = [&] {
    return block.hardswish ? nn::Hardswish() : nn::ReLU();
  };
  const auto squeeze = [&]() -> std::unique_ptr<nn::Module> {
    if (!block.squeeze) return nn::Identity();
    return std::make_unique<SqueezeExcitation>(hidden);
  };
  nn::ModuleList layers;
  const bool expands = in != hidden;
  if (expands) {
    AppendConvBn(layers, {.in = in, .out = hidden});
    layers.push_back(activation());
  }
  AppendConvBn(layers, {.in = hidden,
                        .out = hidden,
                        .kernel = block.kernel,
                        .stride = block.stride,
                        .padding = (block.kernel - 1) / 2,
                        .groups = hidden});
  // The two kinds of block squeeze on different sides of the activation.
  if (expands) layers.push_back(squeeze());
  layers.push_back(activation());
  if (!expands) layers.push_back(squeeze());
  AppendConvBn(layers, {.in = hidden, .out = out});
  return InvertedResidual(std::move(layers), block.stride == 1 && in == out);
}

std::unique_ptr<nn::Module> ConvHardswish(const nn::Conv2dOptions& conv) {
  nn::ModuleList layers;
  AppendConvBn(layers, conv);
  layers.push_back(nn::Hardswish());
  return nn::Sequential(std::move(layers));
}

class MobileNetV3Module : public nn::TensorModule {
 public:
  explicit MobileNetV3Module(const MobileNetV3Options& o) {
    const auto wide = [&](int64_t channels) {
      return MakeDivisible(static_cast<double>(channels) * o.width);
    };
    int64_t channels = wide(16);
    int64_t expanded = channels;
    nn::ModuleList features;
    features.push_back(ConvHardswish({.in = o.in_channels,
                                      .out = channels,
                                      .kernel = 3,
                                      .stride = 2,
                                      .padding = 1}));
    for (const MobileNetV3Block& block : o.blocks) {
      expanded = MakeDivisible(static_cast<double>(channels) * block.expansion);
      const int64_t out = wide(block.channels);
      features.push_back(BlockV3(channels, expanded, out, block));
      channels = out;
    }
    features_ = Add("features", nn::Sequential(std::move(features)));
    conv_ = Add("conv", ConvHardswish({.in = channels, .out = expanded}));
    avgpool_ = Add("avgpool", nn::AdaptiveAvgPool2d(1));
    const int64_t hidden = o.width > 1 ? wide(o.hidden) : o.hidden;
    classifier_ =
        Add("classifier",
            nn::Sequential(nn::Linear({.in = expanded, .out = hidden}),
                           nn::Hardswish(), nn::Dropout(o.dropout),
                           nn::Linear({.in = hidden, .out = o.classes})));
    set_head("classifier.3");
    InitByFanOut(*this);
  }
  std::string kind() const override { return "MobileNetV3"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return classifier_(avgpool_(conv_(features_(x))).flatten(1));
  }

 private:
  nn::Child features_, conv_, avgpool_, classifier_;
};

// --- from recipes ------------------------------------------------------------

constexpr recipe::DoubleRule kWidth = {.min = 1.0 / 16, .max = 16};

bool IsCount(double value) {
  return value >= 1 && value <= 100'000 && value == std::floor(value);
}

bool IsStride(double value) { return value == 1 || value == 2; }

std::vector<MobileNetV2Stage> ReadStages(recipe::Params& params) {
  std::vector<MobileNetV2Stage> stages;
  for (const std::vector<double>& row : ReadRows(params, "structure", 4)) {
    if (!IsCount(row[0]) || !IsCount(row[1]) || !IsCount(row[2]) ||
        !IsStride(row[3])) {
      params.Fail("structure",
                  "expected [expansion, channels, blocks, stride of 1 or 2] in "
                  "each row, all whole and positive");
      return {};
    }
    const auto at = [&](int i) { return static_cast<int64_t>(row[i]); };
    stages.push_back({at(0), at(1), at(2), at(3)});
  }
  return stages;
}

Builder ReadV2(recipe::Params& params, double width, bool custom) {
  MobileNetV2Options options;
  const std::vector<MobileNetV2Stage> stages = ReadStages(params);
  recipe::DoubleRule rule = kWidth;
  if (!custom) rule.fallback = width;
  options.width = params.Double("width_mult", rule);
  if (custom && !stages.empty()) options.stages = stages;
  if (!custom) {
    ExpectSame(params, "structure", stages.empty() || stages == options.stages,
               "custom_mobilenet_v2");
    ExpectSame(params, "width_mult", options.width == width,
               "custom_mobilenet_v2");
  }
  options.classes = ReadClasses(params);
  options.in_channels = ReadChannels(params);
  options.dropout = ReadProbability(params, "dropout");
  return [options] { return MobileNetV2(options); };
}

std::vector<MobileNetV3Block> ReadBlocks(recipe::Params& params) {
  std::vector<MobileNetV3Block> blocks;
  for (const std::vector<double>& row : ReadRows(params, "structure", 6)) {
    const bool odd = IsCount(row[0]) && std::fmod(row[0], 2) == 1;
    if (!odd || row[1] <= 0 || row[1] > 100 || !IsCount(row[2]) ||
        !IsStride(row[5])) {
      params.Fail("structure",
                  "expected [odd kernel, expansion, channels, squeeze of 0 or "
                  "1, h-swish of 0 or 1, stride of 1 or 2] in each row");
      return {};
    }
    blocks.push_back({.kernel = static_cast<int64_t>(row[0]),
                      .expansion = row[1],
                      .channels = static_cast<int64_t>(row[2]),
                      .squeeze = row[3] != 0,
                      .hardswish = row[4] != 0,
                      .stride = static_cast<int64_t>(row[5])});
  }
  return blocks;
}

MobileNetV3Options V3Of(std::string_view mode) {
  if (mode == "small") return {.blocks = MobileNetV3Small(), .hidden = 1024};
  return {};
}

void ReadV3Shared(recipe::Params& params, MobileNetV3Options& options) {
  options.classes = ReadClasses(params);
  options.in_channels = ReadChannels(params);
  options.dropout = ReadProbability(params, "dropout", options.dropout);
}

Builder ReadV3(recipe::Params& params, const std::string& mode) {
  MobileNetV3Options options = V3Of(mode);
  const std::vector<MobileNetV3Block> blocks = ReadBlocks(params);
  ExpectSame(params, "structure", blocks.empty() || blocks == options.blocks,
             "mobilenet_v3_custom");
  ExpectSame(params, "mode",
             params.Text("mode", mode, {"large", "small"}) == mode,
             "mobilenet_v3_custom");
  recipe::DoubleRule width = kWidth;
  width.fallback = 1;
  options.width = params.Double("width_mult", width);
  ReadV3Shared(params, options);
  return [options] { return MobileNetV3(options); };
}

Builder ReadV3Custom(recipe::Params& params) {
  MobileNetV3Options options =
      V3Of(params.Text("mode", {}, {"large", "small"}));
  if (params.Has("structure")) {
    options.blocks = ReadBlocks(params);
  } else {
    params.Fail("structure", "mobilenet_v3_custom needs a structure");
  }
  options.width = params.Double("width_mult", kWidth);
  ReadV3Shared(params, options);
  return [options] { return MobileNetV3(options); };
}

}  // namespace

std::vector<MobileNetV2Stage> MobileNetV2Stages() {
  return {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
          {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
}

std::vector<MobileNetV3Block> MobileNetV3Large() {
  return {{3, 1, 16, false, false, 1},  {3, 4, 24, false, false, 2},
          {3, 3, 24, false, false, 1},  {5, 3, 40, true, false, 2},
          {5, 3, 40, true, false, 1},   {5, 3, 40, true, false, 1},
          {3, 6, 80, false, true, 2},   {3, 2.5, 80, false, true, 1},
          {3, 2.3, 80, false, true, 1}, {3, 2.3, 80, false, true, 1},
          {3, 6, 112, true, true, 1},   {3, 6, 112, true, true, 1},
          {5, 6, 160, true, true, 2},   {5, 6, 160, true, true, 1},
          {5, 6, 160, true, true, 1}};
}

std::vector<MobileNetV3Block> MobileNetV3Small() {
  return {{3, 1, 16, true, false, 2},     {3, 4.5, 24, false, false, 2},
          {3, 3.67, 24, false, false, 1}, {5, 4, 40, true, true, 2},
          {5, 6, 40, true, true, 1},      {5, 6, 40, true, true, 1},
          {5, 3, 48, true, true, 1},      {5, 3, 48, true, true, 1},
          {5, 6, 96, true, true, 2},      {5, 6, 96, true, true, 1},
          {5, 6, 96, true, true, 1}};
}

std::unique_ptr<nn::Module> MobileNetV2(const MobileNetV2Options& options) {
  return std::make_unique<MobileNetV2Module>(options);
}

std::unique_ptr<nn::Module> MobileNetV3(const MobileNetV3Options& options) {
  return std::make_unique<MobileNetV3Module>(options);
}

std::vector<Architecture> MobileNetArchitectures() {
  using recipe::Params;
  return {
      {"mobilenet_v2", [](Params& p) { return ReadV2(p, 1, false); }},
      {"mobile_net_v2_135", [](Params& p) { return ReadV2(p, 1.35, false); }},
      {"custom_mobilenet_v2", [](Params& p) { return ReadV2(p, 1, true); }},
      {"mobilenet_v3_large", [](Params& p) { return ReadV3(p, "large"); }},
      {"mobilenet_v3_small", [](Params& p) { return ReadV3(p, "small"); }},
      {"mobilenet_v3_custom", [](Params& p) { return ReadV3Custom(p); }},
  };
}

}  // namespace slipway::vision_classification
