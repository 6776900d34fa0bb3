#include "plugins/vision_classification/models/densenet.h"

#include <string>
#include <utility>

#include "ATen/ops/adaptive_avg_pool2d.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/relu.h"
#include "c10/core/GradMode.h"
#include "trainer/nn/init.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::vision_classification {
namespace {

// The features that a layer adds to all that come in.
class DenseLayer : public nn::TensorModule {
 public:
  DenseLayer(const DenseNetOptions& o, int64_t in)
      : norm1_(Add("norm1", nn::BatchNorm2d(in))),
        conv1_(Add("conv1", nn::Conv2d({.in = in,
                                        .out = o.bottleneck * o.growth,
                                        .bias = false}))),
        norm2_(Add("norm2", nn::BatchNorm2d(o.bottleneck * o.growth))),
        conv2_(Add("conv2", nn::Conv2d({.in = o.bottleneck * o.growth,
                                        .out = o.growth,
                                        .kernel = 3,
                                        .padding = 1,
                                        .bias = false}))),
        dropout_(Add("dropout", nn::Dropout(o.dropout))) {}
  std::string kind() const override { return "DenseLayer"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor inner = conv1_(at::relu(norm1_(x)));
    return dropout_(conv2_(at::relu(norm2_(inner))));
  }

 private:
  nn::Child norm1_, conv1_, norm2_, conv2_, dropout_;
};

class DenseBlock : public nn::TensorModule {
 public:
  DenseBlock(const DenseNetOptions& o, int64_t in, int64_t layers) {
    for (int64_t i = 0; i < layers; ++i) {
      layers_.push_back(
          Add("denselayer" + std::to_string(i + 1),
              std::make_unique<DenseLayer>(o, in + i * o.growth)));
    }
  }
  std::string kind() const override { return "DenseBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    std::vector<at::Tensor> features = {x};
    for (const nn::Child& layer : layers_) {
      features.push_back(layer(at::cat(features, 1)));
    }
    return at::cat(features, 1);
  }

 private:
  std::vector<nn::Child> layers_;
};

// Half the channels and half the size.
std::unique_ptr<nn::Module> Transition(int64_t in) {
  nn::NamedModuleList layers;
  layers.emplace_back("norm", nn::BatchNorm2d(in));
  layers.emplace_back("relu", nn::ReLU());
  layers.emplace_back("conv",
                      nn::Conv2d({.in = in, .out = in / 2, .bias = false}));
  layers.emplace_back("pool", nn::AvgPool2d({.kernel = 2}));
  return nn::NamedSequential(std::move(layers));
}

nn::NamedModuleList Stem(const DenseNetOptions& o) {
  nn::NamedModuleList layers;
  layers.emplace_back("conv0", nn::Conv2d({.in = o.in_channels,
                                           .out = o.first,
                                           .kernel = 7,
                                           .stride = 2,
                                           .padding = 3,
                                           .bias = false}));
  layers.emplace_back("norm0", nn::BatchNorm2d(o.first));
  layers.emplace_back("relu0", nn::ReLU());
  layers.emplace_back("pool0",
                      nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}));
  return layers;
}

void Init(nn::Module& model) {
  for (const auto& [path, module] : model.NamedModules()) {
    if (module->kind() == "Conv2d") {
      nn::KaimingNormal(module->NamedParameters().front().second);
    } else if (module->kind() == "Linear") {
      const c10::AutoGradMode no_grad(false);
      module->NamedParameters().back().second.zero_();
    }
  }
}

class DenseNetModule : public nn::TensorModule {
 public:
  explicit DenseNetModule(const DenseNetOptions& o) {
    nn::NamedModuleList features = Stem(o);
    int64_t channels = o.first;
    for (size_t i = 0; i < o.blocks.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      features.emplace_back(
          "denseblock" + number,
          std::make_unique<DenseBlock>(o, channels, o.blocks[i]));
      channels += o.blocks[i] * o.growth;
      if (i + 1 == o.blocks.size()) break;
      features.emplace_back("transition" + number, Transition(channels));
      channels /= 2;
    }
    features.emplace_back("norm5", nn::BatchNorm2d(channels));
    features_ = Add("features", nn::NamedSequential(std::move(features)));
    classifier_ =
        Add("classifier", nn::Linear({.in = channels, .out = o.classes}));
    set_head("classifier");
    Init(*this);
  }
  std::string kind() const override { return "DenseNet"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor features = at::relu(features_(x));
    return classifier_(at::adaptive_avg_pool2d(features, {1, 1}).flatten(1));
  }

 private:
  nn::Child features_, classifier_;
};

// --- from recipes ------------------------------------------------------------

Builder Read(recipe::Params& params, DenseNetOptions o) {
  o.classes = ReadClasses(params);
  o.in_channels = ReadChannels(params);
  return [o] { return DenseNet(o); };
}

Builder ReadCustom(recipe::Params& params) {
  DenseNetOptions o;
  constexpr int64_t kMost = 10'000;
  o.growth =
      params.Int("growth_rate", {.fallback = 32, .min = 1, .max = kMost});
  o.first =
      params.Int("num_init_features", {.fallback = 64, .min = 1, .max = kMost});
  o.bottleneck = params.Int("bn_size", {.fallback = 4, .min = 1, .max = 100});
  o.dropout = ReadProbability(params, "drop_rate");
  o.blocks = params.Ints("structure", 0, o.blocks);
  bool possible = !o.blocks.empty();
  for (int64_t layers : o.blocks) possible &= layers >= 1 && layers <= 1000;
  if (!possible) {
    params.Fail("structure", "expected 1 to 1000 layers in each block");
  }
  return Read(params, o);
}

}  // namespace

std::unique_ptr<nn::Module> DenseNet(const DenseNetOptions& options) {
  return std::make_unique<DenseNetModule>(options);
}

std::vector<Architecture> DenseNetArchitectures() {
  const auto named = [](const char* name, const DenseNetOptions& options) {
    return Architecture{
        name, [options](recipe::Params& p) { return Read(p, options); }};
  };
  return {
      named("densenet121", {.blocks = {6, 12, 24, 16}}),
      named("densenet161",
            {.blocks = {6, 12, 36, 24}, .growth = 48, .first = 96}),
      named("densenet169", {.blocks = {6, 12, 32, 32}}),
      named("densenet201", {.blocks = {6, 12, 48, 32}}),
      {"custom_densenet", ReadCustom},
  };
}

}  // namespace slipway::vision_classification
