#include "plugins/compile/inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace slipway::compile {
namespace {

// From the dimension `first` on.
bool Fits(const at::Tensor& tensor, const TensorType& type, size_t first) {
  const at::IntArrayRef sizes = tensor.sizes();
  const at::IntArrayRef strides = tensor.strides();
  return tensor.scalar_type() == type.dtype && tensor.device() == type.device &&
         tensor.requires_grad() == type.requires_grad &&
         sizes.size() == type.sizes.size() &&
         std::equal(sizes.begin() + first, sizes.end(),
                    type.sizes.begin() + first) &&
         std::equal(strides.begin(), strides.end(), type.strides.begin());
}

}  // namespace

std::vector<TensorType> TypesOf(const std::vector<at::Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const at::Tensor& tensor : tensors) {
    types.push_back({.sizes = tensor.sizes().vec(),
                     .strides = tensor.strides().vec(),
                     .dtype = tensor.scalar_type(),
                     .device = tensor.device(),
                     .requires_grad = tensor.requires_grad()});
  }
  return types;
}

bool Match(const std::vector<at::Tensor>& tensors,
           const std::vector<TensorType>& types, size_t state_size,
           const std::optional<BatchSizes>& sizes) {
  if (tensors.size() != types.size()) return false;
  int64_t batch_size = -1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool free = sizes && i >= state_size && tensors[i].dim() > 0;
    if (!Fits(tensors[i], types[i], free ? 1 : 0)) return false;
    if (!free) continue;
    if (batch_size < 0) batch_size = tensors[i].size(0);
    if (tensors[i].size(0) != batch_size) return false;
  }
  return batch_size < 0 ||
         (sizes->min <= batch_size && batch_size <= sizes->max);
}

Inputs::Inputs(const nn::Module& model, const Value& batch) {
  for (auto& [name, tensor] : model.NamedParameters()) {
    state_names_.push_back(std::move(name));
    tensors_.push_back(std::move(tensor));
  }
  parameter_count_ = tensors_.size();
  for (auto& [name, tensor] : model.NamedBuffers()) {
    state_names_.push_back(std::move(name));
    tensors_.push_back(std::move(tensor));
  }
  state_size_ = tensors_.size();
  buffer_count_ = state_size_ - parameter_count_;
  set_batch(batch);
}

Inputs::Inputs(const nn::Module& model,
               const std::vector<nn::NamedTensor>& updated,
               const at::Tensor& numbers, const Value& batch)
    : Inputs(model, Value()) {
  is_step_ = true;
  for (const auto& [name, tensor] : updated) {
    state_names_.push_back(name);
    tensors_.push_back(tensor);
  }
  state_names_.push_back("numbers");
  tensors_.push_back(numbers);
  state_size_ = tensors_.size();
  set_batch(batch);
}

void Inputs::set_updated(const std::vector<nn::NamedTensor>& updated) {
  size_t position = parameter_count_ + buffer_count_;
  for (const auto& [name, tensor] : updated) tensors_[position++] = tensor;
}

void Inputs::set_numbers(const at::Tensor& numbers) {
  tensors_[state_size_ - 1] = numbers;
}

// In every step, so that names are left for those who ask.
void Inputs::set_batch(const Value& batch) {
  tensors_.resize(state_size_);
  for (at::Tensor& tensor : batch.Flatten()) {
    tensors_.push_back(std::move(tensor));
  }
}

std::vector<std::string> Inputs::names() const {
  std::vector<std::string> names = state_names_;
  for (size_t i = 0; i < batch_count(); ++i) {
    names.push_back(absl::StrCat("batch.", i));
  }
  return names;
}

std::vector<at::Tensor> Inputs::parameters() const {
  return {tensors_.begin(), tensors_.begin() + parameter_count_};
}

std::vector<at::Tensor> Inputs::buffers() const {
  return {tensors_.begin() + parameter_count_,
          tensors_.begin() + parameter_count_ + buffer_count_};
}

Value Inputs::BatchIn(const std::vector<at::Tensor>& tensors,
                      const Value& batch) const {
  return batch.Unflatten({tensors.begin() + state_size_, tensors.end()});
}

std::vector<at::Tensor> Inputs::written() const {
  return {tensors_.begin() + written_begin(), tensors_.begin() + written_end()};
}

std::vector<std::string> Inputs::written_names() const {
  return {state_names_.begin() + written_begin(),
          state_names_.begin() + written_end()};
}

std::vector<at::Tensor> Inputs::batch() const {
  return {tensors_.begin() + state_size_, tensors_.end()};
}

}  // namespace slipway::compile
