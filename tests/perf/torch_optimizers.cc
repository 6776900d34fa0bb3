#include "tests/perf/torch_optimizers.h"

#include <memory>
#include <utility>

#include "torch/optim/adamw.h"
#include "torch/optim/sgd.h"

namespace slipway::perf {

std::function<void()> TorchSgd(std::vector<at::Tensor> parameters) {
  auto options =
      torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(1e-4);
  auto optimizer =
      std::make_shared<torch::optim::SGD>(std::move(parameters), options);
  return [optimizer] { optimizer->step(); };
}

std::function<void()> TorchAdamW(std::vector<at::Tensor> parameters) {
  auto optimizer = std::make_shared<torch::optim::AdamW>(
      std::move(parameters), torch::optim::AdamWOptions(0.001));
  return [optimizer] { optimizer->step(); };
}

}  // namespace slipway::perf
