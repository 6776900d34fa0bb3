#include "trainer/nn/layers/conv.h"

#include "ATen/ops/conv2d.h"
#include "ATen/ops/conv_transpose2d.h"
#include "ATen/ops/empty.h"
#include "trainer/nn/init.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

at::Tensor Bias(bool wanted, int64_t size) {
  return wanted ? at::empty({size}) : at::Tensor();
}

void CheckGroups(int64_t in, int64_t out, int64_t groups) {
  CHECK(groups > 0 && in % groups == 0 && out % groups == 0)
      << groups << " groups do not divide " << in << " and " << out
      << " channels";
}

class Conv2dLayer : public LayerWith<Conv2dOptions> {
 public:
  explicit Conv2dLayer(const Conv2dOptions& o) : LayerWith(o) {
    CheckGroups(o.in, o.out, o.groups);
    const auto [height, width] = o.kernel.value;
    weight_ = AddParameter("weight",
                           at::empty({o.out, o.in / o.groups, height, width}));
    bias_ = AddParameter("bias", Bias(o.bias, o.out));
    DefaultInit(weight_, bias_);
  }
  std::string kind() const override { return "Conv2d"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const Conv2dOptions& o = options();
    return at::conv2d(x, weight_, bias_, o.stride.array(), o.padding.array(),
                      o.dilation.array(), o.groups);
  }

 private:
  at::Tensor weight_, bias_;
};

class ConvTranspose2dLayer : public LayerWith<ConvTranspose2dOptions> {
 public:
  explicit ConvTranspose2dLayer(const ConvTranspose2dOptions& o)
      : LayerWith(o) {
    CheckGroups(o.in, o.out, o.groups);
    const auto [height, width] = o.kernel.value;
    weight_ = AddParameter("weight",
                           at::empty({o.in, o.out / o.groups, height, width}));
    bias_ = AddParameter("bias", Bias(o.bias, o.out));
    DefaultInit(weight_, bias_);
  }
  std::string kind() const override { return "ConvTranspose2d"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const ConvTranspose2dOptions& o = options();
    return at::conv_transpose2d(x, weight_, bias_, o.stride.array(),
                                o.padding.array(), o.output_padding.array(),
                                o.groups, o.dilation.array());
  }

 private:
  at::Tensor weight_, bias_;
};

}  // namespace

std::unique_ptr<Module> Conv2d(const Conv2dOptions& options) {
  return std::make_unique<Conv2dLayer>(options);
}

std::unique_ptr<Module> ConvTranspose2d(const ConvTranspose2dOptions& options) {
  return std::make_unique<ConvTranspose2dLayer>(options);
}

}  // namespace slipway::nn
