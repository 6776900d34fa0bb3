#include "plugins/compile/preserve.h"

#include <utility>

#include "ATen/core/grad_mode.h"
#include "trainer/nn/generator_state.h"

namespace slipway::compile {

Preserve::Preserve(std::vector<at::Tensor> tensors)
    : tensors_(std::move(tensors)), generator_(nn::GeneratorState(at::kCPU)) {
  for (const at::Tensor& tensor : tensors_) {
    values_.push_back(tensor.detach().clone());
  }
  if (!tensors_.empty() && !tensors_[0].is_cpu()) {
    device_generator_ = nn::GeneratorState(tensors_[0].device());
  }
}

Preserve::~Preserve() { Restore(); }

void Preserve::Restore() const {
  const at::NoGradGuard no_gradients;
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(values_[i]);
  nn::SetGeneratorState(at::kCPU, generator_);
  if (device_generator_.defined()) {
    nn::SetGeneratorState(tensors_[0].device(), device_generator_);
  }
}

}  // namespace slipway::compile
