#include "trainer/nn/layers/pool.h"

#include "ATen/ops/adaptive_avg_pool2d.h"
#include "ATen/ops/avg_pool2d.h"
#include "ATen/ops/max_pool2d.h"

namespace slipway::nn {
namespace {

class MaxPool2dLayer : public LayerWith<MaxPool2dOptions> {
 public:
  using LayerWith::LayerWith;
  std::string kind() const override { return "MaxPool2d"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const MaxPool2dOptions& o = options();
    return at::max_pool2d(x, o.kernel.array(),
                          o.stride.value_or(o.kernel).array(),
                          o.padding.array(), o.dilation.array(), o.ceil_mode);
  }
};

class AvgPool2dLayer : public LayerWith<AvgPool2dOptions> {
 public:
  using LayerWith::LayerWith;
  std::string kind() const override { return "AvgPool2d"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const AvgPool2dOptions& o = options();
    return at::avg_pool2d(x, o.kernel.array(),
                          o.stride.value_or(o.kernel).array(),
                          o.padding.array(), o.ceil_mode, o.count_include_pad);
  }
};

class AdaptiveAvgPool2dLayer : public LayerWith<Pair> {
 public:
  using LayerWith::LayerWith;
  std::string kind() const override { return "AdaptiveAvgPool2d"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return at::adaptive_avg_pool2d(x, options().array());
  }
};

}  // namespace

std::unique_ptr<Module> MaxPool2d(const MaxPool2dOptions& options) {
  return std::make_unique<MaxPool2dLayer>(options);
}

std::unique_ptr<Module> AvgPool2d(const AvgPool2dOptions& options) {
  return std::make_unique<AvgPool2dLayer>(options);
}

std::unique_ptr<Module> AdaptiveAvgPool2d(Pair output) {
  return std::make_unique<AdaptiveAvgPool2dLayer>(output);
}

}  // namespace slipway::nn
