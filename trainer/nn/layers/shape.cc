#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

class IdentityModule : public Module {
 public:
  std::string kind() const override { return "Identity"; }

 protected:
  Value Forward(const Value& input) override { return input; }
};

class FlattenLayer : public TensorModule {
 public:
  FlattenLayer(int64_t first, int64_t last) : first_(first), last_(last) {}
  std::string kind() const override { return "Flatten"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.flatten(first_, last_);
  }

 private:
  int64_t first_, last_;
};

}  // namespace

std::unique_ptr<Module> Identity() {
  return std::make_unique<IdentityModule>();
}

std::unique_ptr<Module> Flatten(int64_t first, int64_t last) {
  return std::make_unique<FlattenLayer>(first, last);
}

}  // namespace slipway::nn
