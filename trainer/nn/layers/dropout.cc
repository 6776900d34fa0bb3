#include "trainer/nn/layers/dropout.h"

#include <vector>

#include "ATen/ops/dropout.h"
#include "ATen/ops/empty_like.h"
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
    // One value a sample; a trace of it serves batches of any size.
    at::Tensor sample = x;
    for (int64_t i = 1; i < x.dim(); ++i) sample = sample.narrow(i, 0, 1);
    const at::Tensor kept = at::empty_like(sample).bernoulli_(keep);
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
