// LibTorch's own optimizers, to compare with: the one place that pays for its
// headers.
#ifndef SLIPWAY_TESTS_PERF_TORCH_OPTIMIZERS_H_
#define SLIPWAY_TESTS_PERF_TORCH_OPTIMIZERS_H_

#include <functional>
#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway::perf {

// A step of torch::optim::SGD (rate 0.01, momentum 0.9, weight decay 1e-4).
std::function<void()> TorchSgd(std::vector<at::Tensor> parameters);

// A step of torch::optim::AdamW (rate 0.001, its defaults).
std::function<void()> TorchAdamW(std::vector<at::Tensor> parameters);

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_TORCH_OPTIMIZERS_H_
