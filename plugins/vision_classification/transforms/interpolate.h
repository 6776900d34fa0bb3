// Images in another size, whichever way their dimensions lie.
//
//   absl::StatusOr<at::Tensor> small =
//       Resized(image, WholeOf(image), {224, 224}, Filter::kBilinear);
//
// Bytes are resized exactly as Pillow does it (images/resample.h), floats as
// ATen's antialiasing functions do. Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_INTERPOLATE_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_INTERPOLATE_H_

#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/raster.h"
#include "plugins/vision_classification/images/resample.h"
#include "plugins/vision_classification/transforms/geometry.h"

namespace slipway::vision_classification {

// The names of all filters, as recipes write them.
const std::vector<std::string>& FilterNames();
// One of those.
Filter FilterNamed(const std::string& name);

// The part `area` of `image` in the size `size`. INVALID_ARGUMENT for a filter
// that floats do not have.
absl::StatusOr<at::Tensor> Resized(const at::Tensor& image, const Area& area,
                                   Size size, Filter filter);

// The same of a file that waits to be decoded (images/pixels.h): of a JPEG,
// only the area is decoded, at the smallest of its own scales that is no
// smaller than `size`. `area` counts pixels of the whole image.
absl::StatusOr<at::Tensor> DecodedAndResized(const at::Tensor& encoded,
                                             const Area& area, Size size,
                                             Filter filter);

// The size of an image or of a file that waits to be decoded.
absl::StatusOr<Size> SizeOfAny(const at::Tensor& image);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_INTERPOLATE_H_
