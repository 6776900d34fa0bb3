// What a compiled graph takes: the model's tensors and a batch, in one list.
//
//   Inputs inputs(model, images);
//   const std::vector<TensorType> types = TypesOf(inputs.tensors());
//   ...
//   inputs.set_batch(next_images);
//   if (Match(inputs.tensors(), types, inputs.state_size(), sizes)) Run(graph);
//
// The order is the graph's: parameters, buffers (both in the model's order),
// then the tensors of the batch. A whole step has two more in front of these:
// what else it updates, such as momentum, and the numbers that vary from step
// to step, as one tensor.
#ifndef SLIPWAY_PLUGINS_COMPILE_INPUTS_H_
#define SLIPWAY_PLUGINS_COMPILE_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace slipway::compile {

// What code is generated for: it is wrong, without a message, for any other.
struct TensorType {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  bool requires_grad = false;
};

std::vector<TensorType> TypesOf(const std::vector<at::Tensor>& tensors);

// From `min` to `max`, both of them allowed.
struct BatchSizes {
  int64_t min = 0;
  int64_t max = 0;
};

// Whether `tensors` are of these types. With `sizes` the first dimension of
// those from `state_size` on, the batch's, may be any in that range, the same
// in all of them.
bool Match(const std::vector<at::Tensor>& tensors,
           const std::vector<TensorType>& types, size_t state_size,
           const std::optional<BatchSizes>& sizes);

class Inputs {
 public:
  // Holds the model's tensors, which are written to in place and never replaced
  // while it trains.
  Inputs(const nn::Module& model, const Value& batch);
  // Of a whole step: `updated` is written to in place.
  Inputs(const nn::Module& model, const std::vector<nn::NamedTensor>& updated,
         const at::Tensor& numbers, const Value& batch);

  void set_batch(const Value& batch);
  // As many as updated_count().
  void set_updated(const std::vector<nn::NamedTensor>& updated);
  void set_numbers(const at::Tensor& numbers);

  // Parallel to tensors(); a batch's are called "batch.0", "batch.1".
  std::vector<std::string> names() const;
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  std::vector<at::Tensor> parameters() const;
  std::vector<at::Tensor> buffers() const;
  std::vector<at::Tensor> batch() const;
  // The batch among such tensors, in the structure of `batch`.
  Value BatchIn(const std::vector<at::Tensor>& tensors,
                const Value& batch) const;
  // What a pass may write: buffers; a step, everything but numbers and batch.
  std::vector<at::Tensor> written() const;
  std::vector<std::string> written_names() const;

  size_t parameter_count() const { return parameter_count_; }
  size_t buffer_count() const { return buffer_count_; }
  size_t batch_count() const { return tensors_.size() - state_size_; }
  // Of a whole step, 0 otherwise.
  size_t updated_count() const {
    return is_step_ ? state_size_ - 1 - parameter_count_ - buffer_count_ : 0;
  }
  // All but the batch.
  size_t state_size() const { return state_size_; }
  bool is_step() const { return is_step_; }

 private:
  // Of what is written, in tensors_.
  size_t written_begin() const { return is_step_ ? 0 : parameter_count_; }
  size_t written_end() const {
    return is_step_ ? state_size_ - 1 : state_size_;
  }

  std::vector<std::string> state_names_;
  std::vector<at::Tensor> tensors_;
  size_t parameter_count_ = 0;
  size_t buffer_count_ = 0;
  size_t state_size_ = 0;
  bool is_step_ = false;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_INPUTS_H_
