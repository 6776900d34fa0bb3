// An update of tensors after backward, in a form that a compiled step can hold.
//
// A step that is one graph has forward, loss and backward in it, and whatever
// writes tensors after them: the optimizer, averages of weights. Each such part
// is one of these: an optimizer by deriving from it, a plugin by
//
//   const void* Query(std::string_view interface) override {
//     return interface == kStepUpdateInterface
//                ? static_cast<const StepUpdate*>(this) : nullptr;
//   }
//
// Where the graph has taken a step, TookStep() is called in place of
// Optimizer::Step or the plugin's AfterOptimizer. All calls are the training
// thread's.
#ifndef SLIPWAY_TRAINER_PLUGIN_STEP_UPDATE_H_
#define SLIPWAY_TRAINER_PLUGIN_STEP_UPDATE_H_

#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/nn/module.h"

namespace slipway {

class StepContext;

inline constexpr std::string_view kStepUpdateInterface =
    "slipway.step_update/1";

class StepUpdate {
 public:
  virtual ~StepUpdate();

  // What Update writes besides the parameters, in a fixed order. A name says
  // what sort of tensor it is, then whose: "momentum_buffer/conv1.weight".
  // FAILED_PRECONDITION says why this cannot be part of a graph; UNAVAILABLE,
  // why not yet: there is state that appears in the first step.
  virtual absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() = 0;

  // What differs from step to step, for the step to come: always as many
  // numbers. `learning_rates` has one for each parameter group. Errors as
  // above.
  virtual absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& context,
      const std::vector<double>& learning_rates) = 0;

  // The update, in place and of ATen operations alone: a tracer records them.
  // Gradients are the parameters' `grad()`; `numbers` are single-precision
  // scalars on the device, which have other values in each step. Reads no value
  // on the host.
  virtual void Update(const std::vector<at::Tensor>& numbers) = 0;

  // A graph has done what Update does.
  virtual void TookStep() = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_STEP_UPDATE_H_
