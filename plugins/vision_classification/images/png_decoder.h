// PNG files to RGB, by libpng.
//
//   absl::StatusOr<Raster> image = DecodePng(bytes);
//
// All colour types and depths, interlaced or not: the bytes of Pillow's
// Image.open(file).convert("RGB"). As there, alpha is dropped, not blended;
// gamma and colour profiles are left alone; 16 bits of colour keep their upper
// 8; and 16 bits of grey are cut off above 255.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PNG_DECODER_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PNG_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

// Whether `bytes` begin as a PNG does.
bool IsPng(std::string_view bytes);

// The image's size. DATA_LOSS as for DecodePng.
absl::StatusOr<Extent> PngExtent(std::string_view bytes);

// DATA_LOSS says what is wrong with the bytes, RESOURCE_EXHAUSTED that the
// image is larger than options.max_pixels. No other option has an effect.
absl::StatusOr<Raster> DecodePng(std::string_view bytes,
                                 const DecodeOptions& options = {});

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PNG_DECODER_H_
