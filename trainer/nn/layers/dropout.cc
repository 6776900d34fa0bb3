#include "trainer/nn/layers/dropout.h"

#include <vector>

#include "ATen/ops/dropout.h"
#include "ATen/ops/empty.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

void CheckProbability(double probability) {
  CHECK(probability >= 0 && probability <= 1)
      << probability << " is not a probability";
}

class DropoutLayer : public LayerWith<DropoutOptions> {
 public:
  using LayerWith::LayerWith;
  std::string kind() const override { return "Dropout"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    if (!training() || options().probability == 0) return x;
    return at::dropout(x, options().probability, /*train=*/true);
  }
};

class DropPathLayer : public LayerWith<DropPathOptions> {
 public:
  using LayerWith::LayerWith;
  std::string kind() const override { return "DropPath"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const double keep = 1 - options().probability;
    if (!training() || keep == 1) return x;
    std::vector<int64_t> shape(x.dim(), 1);
    shape[0] = x.size(0);
    const at::Tensor kept = at::empty(shape, x.options()).bernoulli_(keep);
    return x.mul(keep > 0 ? kept.div_(keep) : kept);
  }
};

}  // namespace

std::unique_ptr<Module> Dropout(double probability) {
  CheckProbability(probability);
  return std::make_unique<DropoutLayer>(DropoutOptions{probability});
}

std::unique_ptr<Module> DropPath(double probability) {
  CheckProbability(probability);
  return std::make_unique<DropPathLayer>(DropPathOptions{probability});
}

}  // namespace slipway::nn
