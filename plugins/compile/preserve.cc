#include "plugins/compile/preserve.h"

#include <mutex>
#include <utility>

#include "ATen/Context.h"
#include "ATen/core/grad_mode.h"

namespace slipway::compile {
namespace {

at::Tensor GeneratorState(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void SetGeneratorState(at::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace

Preserve::Preserve(std::vector<at::Tensor> tensors)
    : tensors_(std::move(tensors)), generator_(GeneratorState(at::kCPU)) {
  for (const at::Tensor& tensor : tensors_) {
    values_.push_back(tensor.detach().clone());
  }
  if (!tensors_.empty() && !tensors_[0].is_cpu()) {
    device_generator_ = GeneratorState(tensors_[0].device());
  }
}

Preserve::~Preserve() { Restore(); }

void Preserve::Restore() const {
  const at::NoGradGuard no_gradients;
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(values_[i]);
  SetGeneratorState(at::kCPU, generator_);
  if (device_generator_.defined()) {
    SetGeneratorState(tensors_[0].device(), device_generator_);
  }
}

}  // namespace slipway::compile
