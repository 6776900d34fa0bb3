// Image files to RGB: JPEG, PNG and WebP, told apart by their first bytes.
//
//   absl::StatusOr<Raster> image = DecodeImage(bytes);
//
// What a file is called does not matter: ImageNet has a PNG whose name ends in
// .JPEG. Values are those of Pillow's Image.open(file).convert("RGB"); the
// header of each format says where they are not.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_DECODE_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_DECODE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

// DATA_LOSS for bytes that are no image, and what the formats return.
absl::StatusOr<Extent> ImageExtent(std::string_view bytes);
absl::StatusOr<Raster> DecodeImage(std::string_view bytes,
                                   const DecodeOptions& options = {});

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_DECODE_H_
