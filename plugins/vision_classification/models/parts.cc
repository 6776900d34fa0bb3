#include "plugins/vision_classification/models/parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "c10/core/GradMode.h"
#include "trainer/nn/init.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::vision_classification {
namespace {

class InvertedResidualBlock : public nn::TensorModule {
 public:
  InvertedResidualBlock(nn::ModuleList layers, bool residual)
      : conv_(Add("conv", nn::Sequential(std::move(layers)))),
        residual_(residual) {}
  std::string kind() const override { return "InvertedResidual"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return residual_ ? x.add(conv_(x)) : conv_(x);
  }

 private:
  nn::Child conv_;
  bool residual_;
};

void InitLinear(const nn::Module& layer) {
  for (const auto& [name, parameter] : layer.NamedParameters()) {
    if (name == "weight") {
      nn::Normal(parameter, {.std = 0.01});
    } else {
      const c10::AutoGradMode no_grad(false);
      parameter.zero_();
    }
  }
}

}  // namespace

void AppendConvBn(nn::ModuleList& layers, nn::Conv2dOptions conv) {
  conv.bias = false;
  layers.push_back(nn::Conv2d(conv));
  layers.push_back(nn::BatchNorm2d(conv.out));
}

std::unique_ptr<nn::Module> InvertedResidual(nn::ModuleList layers,
                                             bool residual) {
  return std::make_unique<InvertedResidualBlock>(std::move(layers), residual);
}

int64_t MakeDivisible(double channels, int64_t divisor, int64_t minimum) {
  const double half = static_cast<double>(divisor) / 2;
  const int64_t nearest =
      static_cast<int64_t>(channels + half) / divisor * divisor;
  const int64_t rounded = std::max(minimum, nearest);
  const bool too_few = static_cast<double>(rounded) < 0.9 * channels;
  return too_few ? rounded + divisor : rounded;
}

void InitByFanOut(nn::Module& model) {
  for (const auto& [path, module] : model.NamedModules()) {
    if (module->kind() == "Linear") InitLinear(*module);
    if (module->kind() != "Conv2d") continue;
    nn::KaimingNormal(module->NamedParameters().front().second,
                      {.fan = nn::Fan::kOut});
  }
}

}  // namespace slipway::vision_classification
