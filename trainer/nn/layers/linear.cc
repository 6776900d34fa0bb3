#include "trainer/nn/layers/linear.h"

#include "ATen/ops/empty.h"
#include "ATen/ops/linear.h"
#include "trainer/nn/init.h"

namespace slipway::nn {
namespace {

class LinearLayer : public LayerWith<LinearOptions> {
 public:
  explicit LinearLayer(const LinearOptions& o)
      : LayerWith(o),
        weight_(AddParameter("weight", at::empty({o.out, o.in}))),
        bias_(
            AddParameter("bias", o.bias ? at::empty({o.out}) : at::Tensor())) {
    DefaultInit(weight_, bias_);
  }
  std::string kind() const override { return "Linear"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return at::linear(x, weight_, bias_);
  }

 private:
  at::Tensor weight_, bias_;
};

}  // namespace

std::unique_ptr<Module> Linear(const LinearOptions& options) {
  return std::make_unique<LinearLayer>(options);
}

}  // namespace slipway::nn
