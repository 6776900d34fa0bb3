// What a loss and a metric are.
#ifndef SLIPWAY_TRAINER_PLUGIN_LOSS_H_
#define SLIPWAY_TRAINER_PLUGIN_LOSS_H_

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "tests/abi/api_1_1/trainer/nn/value.h"

namespace slipway {

struct LossOutput {
  // A scalar with a gradient: what backward starts from.
  at::Tensor total;
  // Named parts for the log, detached scalars; empty if the total is all.
  std::vector<std::pair<std::string, at::Tensor>> items;
};

// Used from one thread. A loss with parameters or buffers of its own lists
// them through `State` so that they travel with checkpoints and devices.
class Loss {
 public:
  virtual ~Loss();
  // INVALID_ARGUMENT for shapes or types that do not fit; may throw c10::Error
  // for what ATen refuses.
  virtual absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                             const Value& target) = 0;
  virtual std::vector<std::pair<std::string, at::Tensor>> State() const {
    return {};
  }
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_LOSS_H_
