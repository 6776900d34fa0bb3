#include "plugins/vision_classification/target.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace slipway::vision_classification {
namespace {

bool Fits(const at::Tensor& prediction, const at::Tensor& target) {
  if (prediction.dim() < 2 || !prediction.is_floating_point()) return false;
  std::vector<int64_t> shape = prediction.sizes().vec();
  if (!IsDense(target)) shape.erase(shape.begin() + 1);
  return target.sizes() == shape;
}

}  // namespace

bool IsDense(const at::Tensor& target) { return target.is_floating_point(); }

absl::Status CheckTarget(std::string_view owner, const Value& prediction,
                         const Value& target) {
  if (prediction.is_tensor() && target.is_tensor() &&
      Fits(prediction.tensor(), target.tensor())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(owner),
      ": expected a prediction float[n, classes, ...] and a target "
      "long[n, ...] or float[n, classes, ...], but found ",
      prediction.ShapeString(), " and ", target.ShapeString()));
}

}  // namespace slipway::vision_classification
