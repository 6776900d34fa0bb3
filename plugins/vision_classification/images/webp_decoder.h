// WebP files to RGB, by libwebp.
//
//   absl::StatusOr<Raster> image = DecodeWebp(bytes);
//
// Lossy and lossless: the bytes of Pillow's Image.open(file).convert("RGB"),
// which drops alpha. Animations are refused.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_WEBP_DECODER_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_WEBP_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

// Whether `bytes` begin as a WebP does.
bool IsWebp(std::string_view bytes);

// The image's size. DATA_LOSS as for DecodeWebp.
absl::StatusOr<Extent> WebpExtent(std::string_view bytes);

// DATA_LOSS says what is wrong with the bytes, UNIMPLEMENTED that they are an
// animation, RESOURCE_EXHAUSTED that the image is larger than
// options.max_pixels. No other option has an effect.
absl::StatusOr<Raster> DecodeWebp(std::string_view bytes,
                                  const DecodeOptions& options = {});

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_WEBP_DECODER_H_
