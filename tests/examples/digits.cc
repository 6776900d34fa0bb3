#include "tests/examples/digits.h"

#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "plugins/optim/sgd.h"
#include "plugins/vision_classification/datasets/digits.h"
#include "trainer/data/dataset.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway {
namespace {

class FlatDigits : public data::Dataset {
 public:
  int64_t size() const override { return digits_.size(); }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    absl::StatusOr<data::Sample> sample = digits_.Get(index);
    if (sample.ok()) {
      sample->image = sample->image.flatten().to(at::kFloat).div_(255);
    }
    return sample;
  }

 private:
  const vision_classification::Digits digits_{
      vision_classification::Digits::Split::kTraining};
};

}  // namespace

std::unique_ptr<nn::Module> DigitsNet() {
  return nn::Sequential(nn::Linear({.in = 64, .out = 32}), nn::ReLU(),
                        nn::Linear({.in = 32, .out = 10}));
}

std::unique_ptr<Optimizer> DigitsOptimizer(const nn::Module& model) {
  std::vector<ParameterGroup> groups = {
      {.name = "default", .parameters = model.NamedParameters()}};
  return std::make_unique<optim::Sgd>(std::move(groups),
                                      optim::SgdOptions{.momentum = 0});
}

std::unique_ptr<data::Loader> DigitsLoader() {
  data::LoaderParts parts;
  parts.dataset = std::make_unique<FlatDigits>();
  return std::make_unique<data::Loader>(
      std::move(parts), data::LoaderOptions{.batch_size = 32, .shuffle = true});
}

std::string Fingerprint(const nn::Module& model) {
  double sum = 0;
  for (const auto& [name, tensor] : model.StateDict()) {
    const at::Tensor values = tensor.detach().to(at::kDouble);
    sum += values.sum().item().toDouble() +
           1e3 * values.square().sum().item().toDouble();
  }
  return absl::StrFormat("%.17g", sum);
}

}  // namespace slipway
