// A network of your own on data of your own, without a recipe file:
//
//   bazel run //tests/examples:embed
#include <iostream>

#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/tensor.h"
#include "trainer/api.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"

using namespace slipway;  // NOLINT: an example shows what it is about

// Points of a square; the class tells on which side of a line they are.
class Points : public data::Dataset {
 public:
  int64_t size() const override { return 512; }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Rng rng(/*seed=*/1, /*epoch=*/0, index);
    const double x = rng.Uniform(-1, 1), y = rng.Uniform(-1, 1);
    data::Sample sample;
    sample.image = at::tensor({x, y}, at::kFloat);
    sample.target = at::scalar_tensor(x > y ? 1 : 0, at::kLong);
    return sample;
  }
};

std::unique_ptr<data::Loader> Batches(bool shuffle) {
  data::LoaderParts parts;
  parts.dataset = std::make_unique<Points>();
  data::LoaderOptions options = {.batch_size = 32, .shuffle = shuffle};
  return std::make_unique<data::Loader>(std::move(parts), options);
}

int main() {
  TrainRequest request;
  request.model = nn::Sequential(nn::Linear({.in = 2, .out = 16}), nn::ReLU(),
                                 nn::Linear({.in = 16, .out = 2}));
  request.train_loader = Batches(/*shuffle=*/true);
  request.valid_loader = Batches(/*shuffle=*/false);
  request.training_hyperparams = {
      {"max_epochs", 10},   {"initial_lr", 0.1},
      {"ema", true},        {"loss", "CrossEntropyLoss"},
      {"optimizer", "SGD"}, {"valid_metrics_list", {"Accuracy"}}};
  Trainer trainer("embedded");
  const absl::StatusOr<RunResult> result = trainer.Train(std::move(request));
  if (!result.ok()) {
    std::cerr << result.status().message();
    return 2;
  }
  std::cout << ToJson(*result).dump(2) << "\n";
  return result->exit_code;
}
