// An image in memory: rows of RGB bytes, and what decoders are asked for.
//
//   Raster raster({.height = 2, .width = 3});
//   raster.row(1)[3 * 2] = 255;   // the red of the last pixel
//
// Plain data without LibTorch, for decoders and resamplers alike. A Raster is
// moved, never copied.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RASTER_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RASTER_H_

#include <cstdint>
#include <memory>
#include <optional>

namespace slipway::vision_classification {

struct Extent {
  int64_t height = 0;
  int64_t width = 0;
};

// A rectangle of pixels.
struct Area {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

struct Raster {
  Raster() = default;
  // Of unset pixels; std::bad_alloc where memory ends.
  explicit Raster(Extent size)
      : extent(size),
        pixels(std::make_unique_for_overwrite<uint8_t[]>(
            static_cast<size_t>(3 * size.height * size.width))) {}

  uint8_t* row(int64_t y) { return pixels.get() + 3 * extent.width * y; }
  const uint8_t* row(int64_t y) const {
    return pixels.get() + 3 * extent.width * y;
  }

  Extent extent;
  // RGB, row after row: 3 * height * width bytes.
  std::unique_ptr<uint8_t[]> pixels;
};

struct DecodeOptions {
  // A larger image is refused before anything of its size is allocated. The
  // default is where Pillow refuses.
  int64_t max_pixels = 178956970;
  // Decodes at 1/2, 1/4 or 1/8 of the size, rounded up: JPEG only, and without
  // the work for what is left out. 1, 2, 4 or 8.
  int64_t shrink = 1;
  // Decodes only this part of the (shrunk) image, which must lie inside it:
  // JPEG only. Pixels at its borders may differ from those of the whole image
  // by a little, as colours are interpolated from within.
  std::optional<Area> area;
};

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_IMAGES_RASTER_H_
