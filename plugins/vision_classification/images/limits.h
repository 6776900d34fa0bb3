// What decoders say of images that are larger than they may be.
//
//   if (absl::Status s = CheckPixels(extent, options); !s.ok()) return s;
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_LIMITS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_LIMITS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

// RESOURCE_EXHAUSTED with both numbers. Sides are those of a file's header,
// below 2^31.
inline absl::Status CheckPixels(Extent extent, const DecodeOptions& options) {
  if (extent.height * extent.width <= options.max_pixels) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the image has ", extent.width, "x", extent.height,
      " pixels, expected at most ", options.max_pixels, " in all"));
}

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_LIMITS_H_
