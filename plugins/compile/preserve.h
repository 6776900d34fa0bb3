// Trying things out on a model that trains, without a trace.
//
//   {
//     const Preserve preserve(buffers);
//     forward(batch);   // moves running statistics, draws for dropout
//   }                   // as if it had not been
#ifndef SLIPWAY_PLUGINS_COMPILE_PRESERVE_H_
#define SLIPWAY_PLUGINS_COMPILE_PRESERVE_H_

#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway::compile {

// Puts back the values of `tensors` and the state of the random generators, the
// CPU's and that of the tensors' device, as often as wanted and in the end.
class Preserve {
 public:
  explicit Preserve(std::vector<at::Tensor> tensors);
  ~Preserve();
  Preserve(const Preserve&) = delete;
  Preserve& operator=(const Preserve&) = delete;

  void Restore() const;
  // What is put back, parallel to `tensors`.
  const std::vector<at::Tensor>& values() const { return values_; }

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> values_;
  at::Tensor generator_;
  at::Tensor device_generator_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_PRESERVE_H_
