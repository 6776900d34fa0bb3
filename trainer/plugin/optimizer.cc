#include "trainer/plugin/optimizer.h"

#include <utility>

namespace slipway {

Optimizer::Optimizer(std::vector<ParameterGroup> groups)
    : groups_(std::move(groups)) {}

// Out of line, so that every library has the same type information.
Optimizer::~Optimizer() = default;

void Optimizer::ZeroGrad() {
  for (ParameterGroup& group : groups_) {
    for (auto& [name, parameter] : group.parameters) {
      if (parameter.grad().defined()) parameter.mutable_grad().reset();
    }
  }
}

}  // namespace slipway
