#include "plugins/vision_classification/images/decode.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/images/jpeg_decoder.h"
#include "plugins/vision_classification/images/png_decoder.h"
#include "plugins/vision_classification/images/webp_decoder.h"

namespace slipway::vision_classification {
namespace {

absl::Status NoImage(std::string_view bytes) {
  if (bytes.empty()) return absl::DataLossError("the file is empty");
  return absl::DataLossError(absl::StrCat(
      "expected a JPEG, a PNG or a WebP, found a file that begins with \"",
      absl::CHexEscape(std::string(bytes.substr(0, 12))), "\""));
}

}  // namespace

absl::StatusOr<Extent> ImageExtent(std::string_view bytes) {
  if (IsJpeg(bytes)) return JpegExtent(bytes);
  if (IsPng(bytes)) return PngExtent(bytes);
  if (IsWebp(bytes)) return WebpExtent(bytes);
  return NoImage(bytes);
}

absl::StatusOr<Raster> DecodeImage(std::string_view bytes,
                                   const DecodeOptions& options) {
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, options);
  if (IsPng(bytes)) return DecodePng(bytes, options);
  if (IsWebp(bytes)) return DecodeWebp(bytes, options);
  return NoImage(bytes);
}

}  // namespace slipway::vision_classification
