// JPEG files to RGB, by libjpeg-turbo.
//
//   absl::StatusOr<Raster> image = DecodeJpeg(bytes, {.shrink = 2});
//
// Baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK: exactly the bytes
// of Pillow's Image.open(file).convert("RGB"), whose arithmetic is libjpeg's
// own. As there, CMYK is taken to be inverted, as Adobe writes it; EXIF's
// orientation is left alone, as SuperGradients does; and a file that ends
// before its image does is an error.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_JPEG_DECODER_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_JPEG_DECODER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

// Whether `bytes` begin as a JPEG does.
bool IsJpeg(std::string_view bytes);

// The image's size. DATA_LOSS as for DecodeJpeg.
absl::StatusOr<Extent> JpegExtent(std::string_view bytes);

// DATA_LOSS says what is wrong with the bytes, RESOURCE_EXHAUSTED that the
// image is larger than options.max_pixels or has too many scans.
absl::StatusOr<Raster> DecodeJpeg(std::string_view bytes,
                                  const DecodeOptions& options = {});

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_JPEG_DECODER_H_
