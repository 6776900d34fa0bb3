#include "plugins/vision_classification/images/webp_decoder.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/images/limits.h"
#include "webp/decode.h"

namespace slipway::vision_classification {
namespace {

const uint8_t* Data(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

absl::Status Failure(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError("no memory for the WebP");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return absl::DataLossError("the WebP ends before its image does");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return absl::UnimplementedError("the WebP has an unknown feature");
    default:
      return absl::DataLossError(
          absl::StrCat("the WebP is damaged (libwebp's status ", code, ")"));
  }
}

}  // namespace

bool IsWebp(std::string_view bytes) {
  return bytes.substr(0, 4) == "RIFF" && bytes.size() >= 12 &&
         bytes.substr(8, 4) == "WEBP";
}

absl::StatusOr<Extent> WebpExtent(std::string_view bytes) {
  WebPBitstreamFeatures features;
  const VP8StatusCode code =
      WebPGetFeatures(Data(bytes), bytes.size(), &features);
  if (code != VP8_STATUS_OK) return Failure(code);
  if (features.has_animation) {
    return absl::UnimplementedError("the WebP is an animation");
  }
  return Extent{features.height, features.width};
}

absl::StatusOr<Raster> DecodeWebp(std::string_view bytes,
                                  const DecodeOptions& options) {
  const absl::StatusOr<Extent> extent = WebpExtent(bytes);
  if (!extent.ok()) return extent.status();
  absl::Status status = CheckPixels(*extent, options);
  if (!status.ok()) return status;
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return absl::InternalError("libwebp is of another version than its header");
  }
  Raster raster(*extent);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = raster.pixels.get();
  config.output.u.RGBA.stride = static_cast<int>(3 * extent->width);
  config.output.u.RGBA.size = 3 * extent->width * extent->height;
  const VP8StatusCode code = WebPDecode(Data(bytes), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return Failure(code);
  return raster;
}

}  // namespace slipway::vision_classification
