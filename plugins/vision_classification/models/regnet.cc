#include "plugins/vision_classification/models/regnet.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/models/parts.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::vision_classification {
namespace {

constexpr int64_t kStemWidth = 32;

std::unique_ptr<nn::Module> ConvBn(const nn::Conv2dOptions& conv, bool relu) {
  nn::ModuleList layers;
  AppendConvBn(layers, conv);
  if (relu) layers.push_back(nn::ReLU());
  return nn::Sequential(std::move(layers));
}

std::unique_ptr<nn::Module> Squeeze(int64_t channels, int64_t squeezed) {
  return nn::Sequential(
      nn::AdaptiveAvgPool2d(1), nn::Conv2d({.in = channels, .out = squeezed}),
      nn::ReLU(), nn::Conv2d({.in = squeezed, .out = channels}), nn::Sigmoid());
}

class XBlock : public nn::TensorModule {
 public:
  XBlock(const RegNetOptions& o, int64_t in, int64_t out, int64_t stride) {
    const int64_t inner = out / o.bottleneck;
    conv_block_1_ = Add("conv_block_1", ConvBn({.in = in, .out = inner}, true));
    conv_block_2_ =
        Add("conv_block_2", ConvBn({.in = inner,
                                    .out = inner,
                                    .kernel = 3,
                                    .stride = stride,
                                    .padding = 1,
                                    .groups = inner / o.group_width},
                                   true));
    if (o.squeeze > 0)
      se_ = Add("se", Squeeze(inner, std::max<int64_t>(1, in / o.squeeze)));
    conv_block_3_ =
        Add("conv_block_3", ConvBn({.in = inner, .out = out}, false));
    const bool projects = stride != 1 || in != out;
    shortcut_ =
        Add("shortcut",
            projects ? ConvBn({.in = in, .out = out, .stride = stride}, false)
                     : nn::Identity());
    drop_path_ = Add("drop_path", nn::DropPath(o.drop_path));
    rl_ = Add("rl", nn::ReLU());
  }
  std::string kind() const override { return "XBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = conv_block_2_(conv_block_1_(x));
    if (se_) out = out.mul(se_(out));
    out = drop_path_(conv_block_3_(out));
    return rl_(out.add(shortcut_(x)));
  }

 private:
  nn::Child conv_block_1_, conv_block_2_, se_, conv_block_3_, shortcut_,
      drop_path_, rl_;
};

template <typename... Modules>
std::unique_ptr<nn::Module> Named(std::initializer_list<const char*> names,
                                  std::unique_ptr<Modules>... modules) {
  nn::NamedModuleList list;
  auto name = names.begin();
  (list.emplace_back(*name++, std::move(modules)), ...);
  return nn::NamedSequential(std::move(list));
}

std::unique_ptr<nn::Module> Stem(int64_t in) {
  return Named({"conv", "bn", "rl"},
               nn::Conv2d({.in = in,
                           .out = kStemWidth,
                           .kernel = 3,
                           .stride = 2,
                           .padding = 1,
                           .bias = false}),
               nn::BatchNorm2d(kStemWidth), nn::ReLU());
}

std::unique_ptr<nn::Module> StageOf(const RegNetOptions& o, int64_t in,
                                    const RegNetStage& stage) {
  nn::NamedModuleList blocks;
  for (int64_t i = 0; i < stage.blocks; ++i) {
    blocks.emplace_back(
        absl::StrCat("block_", i),
        std::make_unique<XBlock>(o, i == 0 ? in : stage.width, stage.width,
                                 i == 0 ? o.stride : 1));
  }
  return Named({"blocks"}, nn::NamedSequential(std::move(blocks)));
}

std::unique_ptr<nn::Module> Head(const RegNetOptions& o) {
  return Named({"pool", "flatten", "dropout", "fc"}, nn::AdaptiveAvgPool2d(1),
               nn::Flatten(), nn::Dropout(o.dropout),
               nn::Linear({.in = o.stages.back().width, .out = o.classes}));
}

class RegNetModule : public nn::TensorModule {
 public:
  explicit RegNetModule(const RegNetOptions& o) {
    nn::NamedModuleList net;
    net.emplace_back("stem", Stem(o.in_channels));
    int64_t in = kStemWidth;
    for (size_t i = 0; i < o.stages.size(); ++i) {
      net.emplace_back(absl::StrCat("stage_", i), StageOf(o, in, o.stages[i]));
      in = o.stages[i].width;
    }
    if (o.head) net.emplace_back("head", Head(o));
    net_ = Add("net", nn::NamedSequential(std::move(net)));
    if (o.head) set_head("net.head");
    InitByFanOut(*this);
  }
  std::string kind() const override { return "AnyNetX"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override { return net_(x); }

 private:
  nn::Child net_;
};

// --- from recipes ------------------------------------------------------------

constexpr recipe::IntRule kWidth = {.min = 1, .max = 100'000};
constexpr recipe::IntRule kDepth = {.min = 1, .max = 1000};
constexpr recipe::IntRule kStride = {.min = 1, .max = 2};
constexpr int64_t kSqueeze = 4;

void ReadShared(recipe::Params& params, std::string_view channels,
                RegNetOptions& o) {
  o.dropout = ReadProbability(params, "dropout_prob");
  o.drop_path = ReadProbability(params, "droppath_prob");
  o.head = !params.Bool("backbone_mode", false);
  o.classes = ReadClasses(params, o.head);
  o.in_channels = ReadChannels(params, channels);
}

// What the convolutions need to be possible.
void CheckStages(recipe::Params& params, std::string_view key,
                 const RegNetOptions& o) {
  if (o.stages.empty() || o.bottleneck < 1 || o.group_width < 1) return;
  for (const RegNetStage& stage : o.stages) {
    const int64_t inner = stage.width / o.bottleneck;
    if (stage.blocks >= 1 && inner >= 1 && inner % o.group_width == 0) continue;
    params.Fail(key, absl::StrCat("a stage of ", stage.blocks, " blocks and ",
                                  stage.width, " channels, ", inner,
                                  " within a block, cannot be made of groups "
                                  "of ",
                                  o.group_width));
    return;
  }
}

void UseSpace(const RegNetSpace& space, RegNetOptions& o) {
  o.stages = RegNetStages(space);
  o.bottleneck = space.bottleneck;
  o.group_width = space.group_width;
}

Builder ReadNamed(recipe::Params& params, const RegNetSpace& space) {
  RegNetOptions o = {.squeeze = kSqueeze};
  UseSpace(space, o);
  ReadShared(params, "in_channels", o);
  return [o] { return RegNet(o); };
}

constexpr recipe::DoubleRule kInitialWidth = {.min = 8, .max = 10'000};
constexpr recipe::DoubleRule kSlope = {.min = 0, .max = 10'000};
constexpr recipe::DoubleRule kQuantum = {.min = 1.01, .max = 100};

Builder ReadCustom(recipe::Params& params) {
  RegNetSpace space;
  space.initial_width = params.Double("initial_width", kInitialWidth);
  space.slope = params.Double("slope", kSlope);
  space.quantum = params.Double("quantized_param", kQuantum);
  space.depth = params.Int("network_depth", kDepth);
  space.bottleneck = params.Int("bottleneck_ratio", kWidth);
  space.group_width = params.Int("group_width", kWidth);
  RegNetOptions o;
  o.stride = params.Int("stride", kStride);
  o.squeeze = params.Int("se_ratio", {.fallback = 0, .min = 0, .max = 32});
  const bool possible = space.initial_width >= 8 && space.quantum > 1 &&
                        space.bottleneck > 0 && space.group_width > 0;
  if (possible) UseSpace(space, o);
  CheckStages(params, "group_width", o);
  ReadShared(params, "input_channels", o);
  return [o] { return RegNet(o); };
}

// One list: initial_width, slope, quantized_param, network_depth,
// bottleneck_ratio, group_width, stride, se_ratio (0: none).
Builder ReadNas(recipe::Params& params) {
  const std::vector<double> s = params.Doubles("structure", 8);
  RegNetOptions o;
  const auto whole = [](double value, double low, double high) {
    return value >= low && value <= high && value == std::floor(value);
  };
  if (s.size() == 8) {
    if (s[0] < 8 || s[0] > 1e4 || s[1] < 0 || s[1] > 1e4 || s[2] < 1.01 ||
        s[2] > 100 || !whole(s[3], 1, 1000) || !whole(s[4], 1, 1e5) ||
        !whole(s[5], 1, 1e5) || !whole(s[6], 1, 2) || !whole(s[7], 0, 32)) {
      params.Fail("structure",
                  "expected [initial_width, slope, quantized_param, "
                  "network_depth, bottleneck_ratio, group_width, stride, "
                  "se_ratio] as for custom_regnet");
    } else {
      const auto at = [&](int i) { return static_cast<int64_t>(s[i]); };
      UseSpace({s[0], s[1], s[2], at(3), at(4), at(5)}, o);
      o.stride = at(6);
      o.squeeze = at(7);
      CheckStages(params, "structure", o);
    }
  }
  ReadShared(params, "in_channels", o);
  return [o] { return RegNet(o); };
}

// The only value of a list whose entries must agree; 0 if they do not.
int64_t OnlyOf(recipe::Params& params, std::string_view key, size_t length) {
  const std::vector<int64_t> values = params.Ints(key, length);
  if (values.empty()) return 0;
  const bool same = std::all_of(values.begin(), values.end(),
                                [&](int64_t v) { return v == values[0]; });
  if (same && values[0] > 0) return values[0];
  params.Fail(key, "expected one positive number for all stages");
  return 0;
}

Builder ReadAnyNet(recipe::Params& params) {
  RegNetOptions o;
  const std::vector<int64_t> widths = params.Ints("ls_block_width", 0);
  const std::vector<int64_t> blocks =
      params.Ints("ls_num_blocks", widths.size());
  if (blocks.size() == widths.size()) {
    for (size_t i = 0; i < widths.size(); ++i) {
      o.stages.push_back({blocks[i], widths[i]});
    }
  }
  if (widths.empty()) params.Fail("ls_block_width", "expected a width a stage");
  o.bottleneck = OnlyOf(params, "ls_bottleneck_ratio", widths.size());
  o.group_width = OnlyOf(params, "ls_group_width", widths.size());
  o.stride = params.Int("stride", kStride);
  o.squeeze = params.Int("se_ratio", {.fallback = 0, .min = 0, .max = 32});
  CheckStages(params, "ls_block_width", o);
  ReadShared(params, "input_channels", o);
  return [o] { return RegNet(o); };
}

}  // namespace

std::vector<RegNetStage> RegNetStages(const RegNetSpace& space) {
  const auto group = static_cast<double>(space.group_width);
  std::vector<RegNetStage> stages;
  int64_t last = -1;
  for (int64_t i = 0; i < space.depth; ++i) {
    const double wanted =
        space.initial_width + space.slope * static_cast<double>(i);
    const double power = std::nearbyint(std::log(wanted / space.initial_width) /
                                        std::log(space.quantum));
    const double quantised =
        space.initial_width * std::pow(space.quantum, power);
    const auto width = static_cast<int64_t>(8 * std::nearbyint(quantised / 8));
    if (width == last) {
      ++stages.back().blocks;
      continue;
    }
    last = width;
    const auto inner = static_cast<double>(width / space.bottleneck);
    stages.push_back(
        {1, static_cast<int64_t>(std::nearbyint(inner / group) * group)});
  }
  return stages;
}

std::unique_ptr<nn::Module> RegNet(const RegNetOptions& options) {
  return std::make_unique<RegNetModule>(options);
}

std::vector<Architecture> RegNetArchitectures() {
  using recipe::Params;
  const auto named = [](const char* name, const RegNetSpace& space) {
    return Architecture{name,
                        [space](Params& p) { return ReadNamed(p, space); }};
  };
  return {
      named("regnetY200", {24, 36, 2.5, 13, 1, 8}),
      named("regnetY400", {48, 28, 2.1, 16, 1, 8}),
      named("regnetY600", {48, 33, 2.3, 15, 1, 16}),
      named("regnetY800", {56, 39, 2.4, 14, 1, 16}),
      {"custom_regnet", ReadCustom},
      {"custom_anynet", ReadAnyNet},
      {"nas_regnet", ReadNas},
  };
}

}  // namespace slipway::vision_classification
