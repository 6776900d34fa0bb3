#include "plugins/vision_classification/transforms/interpolate.h"

#include <algorithm>

#include "ATen/ops/_upsample_bicubic2d_aa.h"
#include "ATen/ops/_upsample_bilinear2d_aa.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/upsample_nearest2d.h"
#include "absl/status/status.h"
#include "plugins/vision_classification/images/decode.h"
#include "plugins/vision_classification/images/jpeg_decoder.h"
#include "plugins/vision_classification/images/pixels.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway::vision_classification {
namespace {

// `images` is float[1, channels, height, width].
absl::StatusOr<at::Tensor> Interpolate(const at::Tensor& images, Size size,
                                       Filter filter) {
  const std::vector<int64_t> sides = {size.height, size.width};
  switch (filter) {
    case Filter::kNearest:
      return at::upsample_nearest2d(images, sides);
    case Filter::kBilinear:
      return at::_upsample_bilinear2d_aa(images, sides,
                                         /*align_corners=*/false);
    case Filter::kBicubic:
      return at::_upsample_bicubic2d_aa(images, sides,
                                        /*align_corners=*/false);
    default:
      return absl::InvalidArgumentError(
          "after ToTensor the interpolation is nearest, bilinear or bicubic; "
          "list ToTensor later");
  }
}

at::Tensor ResizedBytes(const at::Tensor& image, const Box& box, Size size,
                        Filter filter) {
  at::Tensor result = at::empty({size.height, size.width, image.size(2)},
                                at::TensorOptions(at::kByte));
  Resample(ViewOf(image), box, {size.height, size.width}, filter,
           result.mutable_data_ptr<uint8_t>());
  return result;
}

bool IsAllOf(const Area& area, Size size) {
  return area.height == size.height && area.width == size.width;
}

// The strongest shrinking of a JPEG that leaves `area` as large as `size`.
int64_t ShrinkFor(const Area& area, Size size) {
  for (const int64_t shrink : {8, 4, 2}) {
    if (area.height >= size.height * shrink &&
        area.width >= size.width * shrink) {
      return shrink;
    }
  }
  return 1;
}

// Where `area` lies in an image that is `shrink` times smaller: whole pixels
// around it, and its borders inside those.
struct Shrunk {
  Area pixels;
  Box box;
};

Shrunk ShrunkArea(const Area& area, int64_t shrink) {
  const int64_t top = area.top / shrink;
  const int64_t left = area.left / shrink;
  const int64_t bottom = (area.top + area.height + shrink - 1) / shrink;
  const int64_t right = (area.left + area.width + shrink - 1) / shrink;
  const auto inside = [&](int64_t place, int64_t origin) {
    return static_cast<double>(place) / static_cast<double>(shrink) -
           static_cast<double>(origin);
  };
  return {.pixels = {top, left, bottom - top, right - left},
          .box = {.top = inside(area.top, top),
                  .left = inside(area.left, left),
                  .bottom = inside(area.top + area.height, top),
                  .right = inside(area.left + area.width, left)}};
}

}  // namespace

const std::vector<std::string>& FilterNames() {
  static const auto& names = *new std::vector<std::string>{
      "nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"};
  return names;
}

Filter FilterNamed(const std::string& name) {
  const std::vector<std::string>& names = FilterNames();
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? Filter::kBilinear
                              : static_cast<Filter>(found - names.begin());
}

absl::StatusOr<at::Tensor> Resized(const at::Tensor& image, const Area& area,
                                   Size size, Filter filter) {
  const at::Tensor part =
      Crop(image, {area.top, area.left}, {area.height, area.width});
  if (IsAllOf(area, size)) return part;
  if (image.scalar_type() == at::kByte) {
    return ResizedBytes(WithDenseRows(part),
                        {.bottom = static_cast<double>(area.height),
                         .right = static_cast<double>(area.width)},
                        size, filter);
  }
  absl::StatusOr<at::Tensor> images =
      Interpolate(part.unsqueeze(0), size, filter);
  if (!images.ok()) return images;
  return images->squeeze(0);
}

absl::StatusOr<at::Tensor> DecodedAndResized(const at::Tensor& encoded,
                                             const Area& area, Size size,
                                             Filter filter) {
  const std::string_view bytes = EncodedBytes(encoded);
  if (!IsJpeg(bytes)) {
    at::Tensor image = encoded;
    absl::Status status = DecodeIfEncoded(image);
    if (!status.ok()) return status;
    return Resized(image, area, size, filter);
  }
  DecodeOptions options = {.shrink = ShrinkFor(area, size)};
  const Shrunk shrunk = ShrunkArea(area, options.shrink);
  const absl::StatusOr<Size> whole = SizeOfAny(encoded);
  if (!whole.ok()) return whole.status();
  // All of it is decoded to its end, where damage shows.
  if (!IsAllOf(area, *whole)) options.area = shrunk.pixels;
  absl::StatusOr<Raster> raster = DecodeJpeg(bytes, options);
  if (!raster.ok()) {
    return WithPrefix(std::string(EncodedName(encoded)), raster.status());
  }
  if (options.shrink == 1 && IsAllOf(area, size)) {
    return TensorOf(*std::move(raster));
  }
  return ResizedBytes(TensorOf(*std::move(raster)), shrunk.box, size, filter);
}

absl::StatusOr<Size> SizeOfAny(const at::Tensor& image) {
  if (!IsEncoded(image)) {
    if (absl::Status s = CheckImage(image); !s.ok()) return s;
    return SizeOf(image);
  }
  const absl::StatusOr<Extent> extent = ImageExtent(EncodedBytes(image));
  if (!extent.ok()) {
    return WithPrefix(std::string(EncodedName(image)), extent.status());
  }
  return Size{extent->height, extent->width};
}

}  // namespace slipway::vision_classification
