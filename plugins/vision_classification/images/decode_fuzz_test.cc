// Any bytes are an image, or an error that says why not, at every size at which
// they can be decoded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/vision_classification/images/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::vision_classification;  // NOLINT: a C function.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Extent> extent = ImageExtent(bytes);
  for (const int64_t shrink : {1, 8}) {
    const absl::StatusOr<Raster> image =
        DecodeImage(bytes, {.max_pixels = 1 << 18, .shrink = shrink});
    if (!image.ok()) {
      if (image.status().message().empty()) std::abort();
      continue;
    }
    if (!extent.ok()) std::abort();
    if (shrink == 1 && (image->extent.height != extent->height ||
                        image->extent.width != extent->width)) {
      std::abort();
    }
    // The sanitizers see whether every pixel is there.
    const uint8_t* end = image->row(image->extent.height);
    if (std::count(static_cast<const uint8_t*>(image->row(0)), end, 1) < 0) {
      std::abort();
    }
    const Area area = {image->extent.height / 2, image->extent.width / 2,
                       image->extent.height - image->extent.height / 2,
                       image->extent.width - image->extent.width / 2};
    const absl::StatusOr<Raster> part = DecodeImage(
        bytes, {.max_pixels = 1 << 18, .shrink = shrink, .area = area});
    if (part.ok() && part->extent.height < area.height) std::abort();
  }
  return 0;
}
