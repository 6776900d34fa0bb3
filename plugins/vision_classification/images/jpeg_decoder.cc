#include "plugins/vision_classification/images/jpeg_decoder.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/images/limits.h"
// After <cstdio>, whose names it uses.
#include "jerror.h"
#include "jpeglib.h"

namespace slipway::vision_classification {
namespace {

// A progressive image of a few bytes can ask for thousands of passes over all
// of its pixels.
constexpr int kMostScans = 500;

// What libjpeg knows and where it jumps when it fails. Functions that libjpeg
// may leave by that jump hold nothing that has a destructor.
struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  bool too_many_scans;
};

[[noreturn]] void Fail(j_common_ptr info) {
  std::longjmp(static_cast<Decoder*>(info->client_data)->failed, 1);
}

// Warnings are of bytes that libjpeg can live with, but for those that are not
// there.
void Emit(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) Fail(info);
}

void CountScans(j_common_ptr info) {
  Decoder* decoder = static_cast<Decoder*>(info->client_data);
  if (decoder->info.input_scan_number <= kMostScans) return;
  decoder->too_many_scans = true;
  Fail(info);
}

void Quiet(j_common_ptr) {}

void Prepare(Decoder& decoder) {
  std::memset(&decoder, 0, sizeof(decoder));
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = Fail;
  decoder.errors.emit_message = Emit;
  decoder.errors.output_message = Quiet;
  decoder.info.client_data = &decoder;
}

// Steps of decoding: false after a failure.
bool Open(Decoder& decoder, std::string_view bytes) {
  if (setjmp(decoder.failed) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.progress.progress_monitor = CountScans;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info,
               reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  return jpeg_read_header(&decoder.info, TRUE) == JPEG_HEADER_OK;
}

bool Start(Decoder& decoder, int64_t shrink) {
  if (setjmp(decoder.failed) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(shrink);
  const bool cmyk = info.num_components == 4;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  return jpeg_start_decompress(&info);
}

// Writes the rows of `area` below each other, of info.output_components bytes a
// pixel.
bool ReadRows(Decoder& decoder, const Area& area, bool whole, uint8_t* line,
              uint8_t* out) {
  if (setjmp(decoder.failed) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  JDIMENSION left = static_cast<JDIMENSION>(area.left);
  JDIMENSION width = static_cast<JDIMENSION>(area.width);
  // Moves `left` to where a block begins.
  if (!whole && width < info.output_width) {
    jpeg_crop_scanline(&info, &left, &width);
  }
  if (area.top > 0) {
    jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(area.top));
  }
  const int64_t bytes = area.width * info.output_components;
  const int64_t before = (area.left - left) * info.output_components;
  for (int64_t y = 0; y < area.height; ++y) {
    JSAMPROW row = line;
    if (jpeg_read_scanlines(&info, &row, 1) != 1) return false;
    std::memcpy(out + y * bytes, line + before, bytes);
  }
  // What follows the image tells whether the file is whole.
  if (whole) jpeg_finish_decompress(&info);
  return true;
}

// What became of the last step.
absl::Status Failure(Decoder& decoder) {
  if (decoder.too_many_scans) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the JPEG has more than ", kMostScans, " scans"));
  }
  if (decoder.errors.msg_code == JWRN_JPEG_EOF) {
    return absl::DataLossError("the JPEG ends before its image does");
  }
  char message[JMSG_LENGTH_MAX] = "";
  decoder.errors.format_message(reinterpret_cast<j_common_ptr>(&decoder.info),
                                message);
  return absl::DataLossError(absl::StrCat("the JPEG is damaged: ", message));
}

// Ends a decoder, however far it came.
class Ended {
 public:
  explicit Ended(Decoder& decoder) : decoder_(decoder) {}
  ~Ended() { jpeg_destroy_decompress(&decoder_.info); }
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;

 private:
  Decoder& decoder_;
};

Extent ExtentOf(const Decoder& decoder) {
  return {decoder.info.image_height, decoder.info.image_width};
}

// a * b / 255, rounded as Pillow rounds it.
int Scaled(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// `inks` are 255 - C, 255 - M, 255 - Y, 255 - K, as Adobe has them.
void InksToRgb(const uint8_t* inks, int64_t pixels, uint8_t* rgb) {
  for (int64_t p = 0; p < pixels; ++p, inks += 4, rgb += 3) {
    const int white = inks[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<uint8_t>(white - Scaled(255 - inks[c], white));
    }
  }
}

absl::StatusOr<Raster> ReadArea(Decoder& decoder, const Area& area,
                                bool whole) {
  Raster raster({area.height, area.width});
  const int components = decoder.info.output_components;
  std::vector<uint8_t> line(static_cast<size_t>(decoder.info.output_width) *
                            components);
  if (components == 3) {
    if (!ReadRows(decoder, area, whole, line.data(), raster.pixels.get())) {
      return Failure(decoder);
    }
    return raster;
  }
  std::vector<uint8_t> inks(
      static_cast<size_t>(area.height * area.width * components));
  if (!ReadRows(decoder, area, whole, line.data(), inks.data())) {
    return Failure(decoder);
  }
  InksToRgb(inks.data(), area.height * area.width, raster.pixels.get());
  return raster;
}

}  // namespace

bool IsJpeg(std::string_view bytes) {
  return bytes.substr(0, 3) == "\xff\xd8\xff";
}

absl::StatusOr<Extent> JpegExtent(std::string_view bytes) {
  Decoder decoder;
  Prepare(decoder);
  const Ended ended(decoder);
  if (!Open(decoder, bytes)) return Failure(decoder);
  return ExtentOf(decoder);
}

absl::StatusOr<Raster> DecodeJpeg(std::string_view bytes,
                                  const DecodeOptions& options) {
  Decoder decoder;
  Prepare(decoder);
  const Ended ended(decoder);
  if (!Open(decoder, bytes)) return Failure(decoder);
  absl::Status status = CheckPixels(ExtentOf(decoder), options);
  if (!status.ok()) return status;
  if (!Start(decoder, options.shrink)) return Failure(decoder);
  const Area all = {0, 0, decoder.info.output_height,
                    decoder.info.output_width};
  const Area area = options.area.value_or(all);
  if (area.top < 0 || area.left < 0 || area.height < 1 || area.width < 1 ||
      area.top + area.height > all.height ||
      area.left + area.width > all.width) {
    return absl::InvalidArgumentError(
        absl::StrCat("an area of ", area.width, "x", area.height, " pixels at ",
                     area.left, ",", area.top, " is not inside an image of ",
                     all.width, "x", all.height));
  }
  return ReadArea(decoder, area, /*whole=*/!options.area);
}

}  // namespace slipway::vision_classification
