// Images in another size, as Pillow resizes them.
//
//   Raster half = Resample(image, {.height = 112, .width = 112},
//                          Filter::kBilinear);
//
// The filters of Pillow's Image.resize with its `box`, whose arithmetic is
// repeated step by step, so that bytes are equal: columns first, then rows,
// each in 22 bits of fixed point and rounded to bytes. (Pillow 13 takes rows
// first where that is cheaper; its bytes differ by rounding then.) What is
// shrunk is antialiased: the filter grows with the step.
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RESAMPLE_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RESAMPLE_H_

#include <cstdint>

#include "plugins/vision_classification/images/raster.h"

namespace slipway::vision_classification {

enum class Filter { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos };

// A part of an image with borders between pixels.
struct Box {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
};

// Bytes of an image, of any number of channels, that belong to someone else.
struct RasterView {
  const uint8_t* pixels = nullptr;
  Extent extent;
  int64_t channels = 3;
  // From one row to the next.
  int64_t row_bytes = 0;

  const uint8_t* row(int64_t y) const { return pixels + y * row_bytes; }
};

RasterView ViewOf(const Raster& raster);

// Writes `size` pixels of `image.channels` bytes to `out`, row after row: the
// part `box` of `image`, which is not empty and lies inside it.
void Resample(const RasterView& image, const Box& box, Extent size,
              Filter filter, uint8_t* out);

// The whole of `image`.
Raster Resample(const Raster& image, Extent size, Filter filter);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RESAMPLE_H_
