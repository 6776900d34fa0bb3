// What losses and metrics of classification may be given.
//
//   absl::Status status = CheckTarget("Accuracy", prediction, target);
//   if (IsDense(target.tensor())) ...
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TARGET_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TARGET_H_

#include <string_view>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/nn/value.h"

namespace slipway::vision_classification {

// True if `target` is a distribution over classes, rather than classes.
bool IsDense(const at::Tensor& target);

// OK if `prediction` is float[n, c, ...] and `target` is classes, long[n, ...],
// or distributions over them, float[n, c, ...]; else INVALID_ARGUMENT, which
// begins with `owner`.
absl::Status CheckTarget(std::string_view owner, const Value& prediction,
                         const Value& target);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TARGET_H_
