#include "plugins/vision_classification/images/png_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/images/limits.h"
#include "png.h"

namespace slipway::vision_classification {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
// Chunks beside the pixels: text and profiles, which nobody reads.
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;

// What libpng knows and where it jumps when it fails. Functions that libpng may
// leave by that jump hold nothing that has a destructor.
struct Decoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view bytes;
  size_t used = 0;
  std::jmp_buf failed;
  char message[120] = "";

  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  Decoder* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->message, sizeof(decoder->message), "%s", message);
  std::longjmp(decoder->failed, 1);
}

void Quiet(png_structp, png_const_charp) {}

void Read(png_structp png, png_bytep out, size_t size) {
  Decoder* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (size > decoder->bytes.size() - decoder->used) {
    Fail(png, "it ends before its image does");
  }
  std::memcpy(out, decoder->bytes.data() + decoder->used, size);
  decoder->used += size;
}

// Steps of decoding: false after a failure.
bool Open(Decoder& decoder) {
  if (setjmp(decoder.failed) != 0) return false;
  decoder.png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, Fail, Quiet);
  if (decoder.png == nullptr) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) return false;
  // The limit of pixels is ours, with a message of its own.
  png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(decoder.png, kMostChunkBytes);
  png_set_read_fn(decoder.png, &decoder, Read);
  png_read_info(decoder.png, decoder.info);
  return true;
}

// Cuts 16 bits off above 255, in place.
void CutOff(png_structp, png_row_infop row, png_bytep data) {
  for (size_t i = 0; i < row->rowbytes / 2; ++i) {
    data[i] = data[2 * i] == 0 ? data[2 * i + 1] : 255;
  }
}

// Makes rows RGB, 8 bits each.
bool Convert(Decoder& decoder) {
  if (setjmp(decoder.failed) != 0) return false;
  const png_byte type = png_get_color_type(decoder.png, decoder.info);
  const png_byte depth = png_get_bit_depth(decoder.png, decoder.info);
  if (type == PNG_COLOR_TYPE_GRAY && depth == 16) {
    png_set_read_user_transform_fn(decoder.png, CutOff);
    png_set_user_transform_info(decoder.png, nullptr, 8, 3);
  } else {
    png_set_strip_16(decoder.png);
  }
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(decoder.png);
  if (type == PNG_COLOR_TYPE_GRAY) {
    png_set_expand_gray_1_2_4_to_8(decoder.png);
  }
  png_set_gray_to_rgb(decoder.png);
  png_set_strip_alpha(decoder.png);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  return true;
}

bool ReadRows(Decoder& decoder, png_bytepp rows) {
  if (setjmp(decoder.failed) != 0) return false;
  png_read_image(decoder.png, rows);
  return true;
}

absl::Status Failure(const Decoder& decoder) {
  return absl::DataLossError(
      absl::StrCat("the PNG is damaged: ", decoder.message));
}

Extent ExtentOf(const Decoder& decoder) {
  return {png_get_image_height(decoder.png, decoder.info),
          png_get_image_width(decoder.png, decoder.info)};
}

}  // namespace

bool IsPng(std::string_view bytes) {
  return bytes.substr(0, kSignature.size()) == kSignature;
}

absl::StatusOr<Extent> PngExtent(std::string_view bytes) {
  Decoder decoder;
  decoder.bytes = bytes;
  if (!Open(decoder)) return Failure(decoder);
  return ExtentOf(decoder);
}

absl::StatusOr<Raster> DecodePng(std::string_view bytes,
                                 const DecodeOptions& options) {
  Decoder decoder;
  decoder.bytes = bytes;
  if (!Open(decoder)) return Failure(decoder);
  const Extent extent = ExtentOf(decoder);
  absl::Status status = CheckPixels(extent, options);
  if (!status.ok()) return status;
  if (!Convert(decoder)) return Failure(decoder);
  const size_t row_bytes = png_get_rowbytes(decoder.png, decoder.info);
  if (row_bytes != static_cast<size_t>(3 * extent.width)) {
    return absl::InternalError("libpng's rows are not RGB");
  }
  Raster raster(extent);
  std::vector<png_bytep> rows;
  rows.reserve(extent.height);
  for (int64_t y = 0; y < extent.height; ++y) rows.push_back(raster.row(y));
  if (!ReadRows(decoder, rows.data())) return Failure(decoder);
  return raster;
}

}  // namespace slipway::vision_classification
