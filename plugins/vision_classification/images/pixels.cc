#include "plugins/vision_classification/images/pixels.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "ATen/ops/from_blob.h"
#include "absl/status/statusor.h"
#include "plugins/vision_classification/images/decode.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway::vision_classification {
namespace {

// A file, its name, and the name's size follow each other.
struct Encoded {
  std::string_view bytes;
  std::string_view name;
};

Encoded SplitOf(const at::Tensor& image) {
  const std::string_view all(
      reinterpret_cast<const char*>(image.const_data_ptr<uint8_t>()),
      static_cast<size_t>(image.numel()));
  uint64_t name_size = 0;
  if (all.size() < sizeof(name_size)) return {};
  const std::string_view rest = all.substr(0, all.size() - sizeof(name_size));
  std::memcpy(&name_size, rest.data() + rest.size(), sizeof(name_size));
  if (name_size > rest.size()) return {};
  const size_t bytes = rest.size() - name_size;
  return {rest.substr(0, bytes), rest.substr(bytes)};
}

}  // namespace

at::Tensor TensorOf(Raster raster) {
  const Extent extent = raster.extent;
  uint8_t* pixels = raster.pixels.release();
  return at::from_blob(
      pixels, {extent.height, extent.width, 3},
      [](void* memory) { delete[] static_cast<uint8_t*>(memory); },
      at::TensorOptions(at::kByte));
}

at::Tensor EncodedTensor(std::string bytes, std::string_view name) {
  const uint64_t name_size = name.size();
  auto* kept = new std::string(std::move(bytes));
  kept->append(name);
  kept->append(reinterpret_cast<const char*>(&name_size), sizeof(name_size));
  return at::from_blob(
      kept->data(), {static_cast<int64_t>(kept->size())},
      [kept](void*) { delete kept; }, at::TensorOptions(at::kByte));
}

bool IsEncoded(const at::Tensor& image) {
  return image.defined() && image.dim() == 1 &&
         image.scalar_type() == at::kByte && !SplitOf(image).bytes.empty();
}

std::string_view EncodedBytes(const at::Tensor& image) {
  return SplitOf(image).bytes;
}

std::string_view EncodedName(const at::Tensor& image) {
  return SplitOf(image).name;
}

absl::Status DecodeIfEncoded(at::Tensor& image) {
  if (!IsEncoded(image)) return absl::OkStatus();
  absl::StatusOr<Raster> raster = DecodeImage(EncodedBytes(image));
  if (!raster.ok()) {
    return WithPrefix(std::string(EncodedName(image)), raster.status());
  }
  image = TensorOf(*std::move(raster));
  return absl::OkStatus();
}

at::Tensor WithDenseRows(const at::Tensor& image) {
  const bool dense = image.stride(2) == 1 && image.stride(1) == image.size(2);
  return dense ? image : image.contiguous();
}

RasterView ViewOf(const at::Tensor& image) {
  return {.pixels = image.const_data_ptr<uint8_t>(),
          .extent = {image.size(0), image.size(1)},
          .channels = image.size(2),
          .row_bytes = image.stride(0)};
}

}  // namespace slipway::vision_classification
