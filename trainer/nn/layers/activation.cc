#include "trainer/nn/layers/activation.h"

#include <functional>
#include <string>
#include <utility>

#include "ATen/ops/gelu.h"
#include "ATen/ops/hardsigmoid.h"
#include "ATen/ops/hardswish.h"
#include "ATen/ops/leaky_relu.h"
#include "ATen/ops/relu.h"
#include "ATen/ops/relu6.h"
#include "ATen/ops/sigmoid.h"
#include "ATen/ops/silu.h"
#include "ATen/ops/softmax.h"
#include "ATen/ops/tanh.h"

namespace slipway::nn {
namespace {

using Function = std::function<at::Tensor(const at::Tensor&)>;

class Activation : public TensorModule {
 public:
  Activation(std::string kind, Function function)
      : kind_(std::move(kind)), function_(std::move(function)) {}
  std::string kind() const override { return kind_; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return function_(x);
  }

 private:
  std::string kind_;
  Function function_;
};

std::unique_ptr<Module> Make(std::string kind, Function function) {
  return std::make_unique<Activation>(std::move(kind), std::move(function));
}

}  // namespace

std::unique_ptr<Module> ReLU() { return Make("ReLU", at::relu); }

std::unique_ptr<Module> ReLU6() { return Make("ReLU6", at::relu6); }

std::unique_ptr<Module> LeakyReLU(double slope) {
  return Make("LeakyReLU", [slope](const at::Tensor& x) {
    return at::leaky_relu(x, slope);
  });
}

std::unique_ptr<Module> Sigmoid() { return Make("Sigmoid", at::sigmoid); }

std::unique_ptr<Module> Tanh() { return Make("Tanh", at::tanh); }

std::unique_ptr<Module> SiLU() { return Make("SiLU", at::silu); }

std::unique_ptr<Module> GELU(GeluFormula formula) {
  const char* name = formula == GeluFormula::kTanh ? "tanh" : "none";
  return Make("GELU",
              [name](const at::Tensor& x) { return at::gelu(x, name); });
}

std::unique_ptr<Module> Hardsigmoid() {
  return Make("Hardsigmoid", at::hardsigmoid);
}

std::unique_ptr<Module> Hardswish() { return Make("Hardswish", at::hardswish); }

std::unique_ptr<Module> Softmax(int64_t dimension) {
  return Make("Softmax", [dimension](const at::Tensor& x) {
    return at::softmax(x, dimension);
  });
}

}  // namespace slipway::nn
