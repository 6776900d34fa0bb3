// What an optimizer is.
//
//   optimizer->Step(rates);   // one learning rate per group
//   optimizer->ZeroGrad();
#ifndef SLIPWAY_TRAINER_PLUGIN_OPTIMIZER_H_
#define SLIPWAY_TRAINER_PLUGIN_OPTIMIZER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"

namespace slipway {

// Parameters that share a learning rate and options.
struct ParameterGroup {
  // What the recipe calls it: "default", or the prefix under initial_lr. Two
  // groups share a name where weight decay alone differs.
  std::string name;
  // Full names and the model's own tensors, in model order.
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  double initial_lr = 0;
  // Overrides the optimizer's own weight_decay where set.
  double weight_decay = -1;
};

// State of one parameter: "momentum_buffer", "exp_avg", "step", ...
using OptimizerState = std::vector<std::pair<std::string, at::Tensor>>;

// Used from one thread. State is kept and loaded by parameter *name*, never by
// position.
class Optimizer {
 public:
  virtual ~Optimizer();

  const std::vector<ParameterGroup>& groups() const { return groups_; }

  // Updates every parameter that has a gradient, with `learning_rates[i]` for
  // group i. May throw c10::Error.
  virtual absl::Status Step(const std::vector<double>& learning_rates) = 0;
  // Drops all gradients (sets them to undefined).
  void ZeroGrad();

  // Tensors are the optimizer's own. A parameter without state is left out.
  virtual std::vector<std::pair<std::string, OptimizerState>> State() const = 0;
  // Copies (strides follow the parameter's). Lists what is missing, unexpected
  // or misshapen in one INVALID_ARGUMENT and then changes nothing.
  virtual absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>& state) = 0;

 protected:
  explicit Optimizer(std::vector<ParameterGroup> groups);
  std::vector<ParameterGroup> groups_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_OPTIMIZER_H_
