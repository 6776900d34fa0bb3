// Images as tensors, and files that wait to be decoded as tensors too.
//
//   sample.image = TensorOf(*DecodeImage(bytes));      // byte[height, width,
//   3] sample.image = EncodedTensor(std::move(bytes), path);           //
//   byte[n] absl::Status status = DecodeIfEncoded(sample.image);
//
// `decode: fast` hands the file itself on, in the place of the image, to the
// first transform, which decodes no more of it than it needs.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PIXELS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PIXELS_H_

#include <string>
#include <string_view>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "plugins/vision_classification/images/raster.h"
#include "plugins/vision_classification/images/resample.h"

namespace slipway::vision_classification {

// byte[height, width, 3] of the raster's own memory.
at::Tensor TensorOf(Raster raster);

// byte[n]: a file, and what errors call it.
at::Tensor EncodedTensor(std::string bytes, std::string_view name);
bool IsEncoded(const at::Tensor& image);
// What it holds, while it lives.
std::string_view EncodedBytes(const at::Tensor& image);
std::string_view EncodedName(const at::Tensor& image);

// Makes byte[height, width, 3] of a file; leaves everything else as it is.
// Errors are DecodeImage's, with the file's name before them.
absl::Status DecodeIfEncoded(at::Tensor& image);

// `image`, byte[height, width, channels] as it lies: the pixels of
// a row follow each other.
RasterView ViewOf(const at::Tensor& image);
// `image` where they do, else a copy.
at::Tensor WithDenseRows(const at::Tensor& image);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_PIXELS_H_
