#include "plugins/vision_classification/transforms/geometry.h"

#include <optional>
#include <vector>

#include "ATen/ops/constant_pad_nd.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugins/vision_classification/images/pixels.h"
#include "trainer/nn/value.h"

namespace slipway::vision_classification {
namespace {

bool IsBytes(const at::Tensor& image) {
  return image.scalar_type() == at::kByte;
}

bool AnyBelow(const std::vector<int64_t>& numbers, int64_t least) {
  for (int64_t number : numbers) {
    if (number < least) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckImage(const at::Tensor& image) {
  if (image.defined() && image.dim() == 3 &&
      (IsBytes(image) || image.scalar_type() == at::kFloat)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected an image, byte[height, width, channels] or float[channels, "
      "height, width], but found ",
      Value(image).ShapeString()));
}

absl::Status NeedImage(at::Tensor& image) {
  if (absl::Status s = DecodeIfEncoded(image); !s.ok()) return s;
  return CheckImage(image);
}

absl::Status NeedColours(std::string_view owner, at::Tensor& image) {
  if (absl::Status s = NeedImage(image); !s.ok()) return s;
  if (IsBytes(image) && image.size(2) == 3) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(owner), " changes byte[height, width, 3], found ",
      Value(image).ShapeString(), "; list it before ToTensor"));
}

int HeightDim(const at::Tensor& image) { return IsBytes(image) ? 0 : 1; }

int WidthDim(const at::Tensor& image) { return HeightDim(image) + 1; }

Size SizeOf(const at::Tensor& image) {
  return {image.size(HeightDim(image)), image.size(WidthDim(image))};
}

at::Tensor Crop(const at::Tensor& image, Corner corner, Size size) {
  return image.narrow(HeightDim(image), corner.top, size.height)
      .narrow(WidthDim(image), corner.left, size.width);
}

at::Tensor Pad(const at::Tensor& image, const Padding& padding, double fill) {
  // From the last dimension to the first.
  std::vector<int64_t> sides = {padding.left, padding.right, padding.top,
                                padding.bottom};
  if (IsBytes(image)) sides.insert(sides.begin(), {0, 0});
  return at::constant_pad_nd(image, sides, fill);
}

std::vector<int64_t> ReadSides(recipe::Params& params, std::string_view key) {
  if (!params.Has(key)) {
    params.Ints(key, 1);
    return {1};
  }
  const std::vector<int64_t> sides = params.Ints(key, 0, {{1}});
  if (sides.empty() || sides.size() > 2 || AnyBelow(sides, 1)) {
    params.Fail(key, absl::StrCat("\"", std::string(key), "\" is [",
                                  absl::StrJoin(sides, ", "),
                                  "], expected one or two numbers of pixels"));
    return {1};
  }
  return sides;
}

Size ReadSize(recipe::Params& params, std::string_view key) {
  const std::vector<int64_t> sides = ReadSides(params, key);
  return {sides.front(), sides.back()};
}

Padding ReadPadding(recipe::Params& params, std::string_view key,
                    bool required) {
  std::optional<std::vector<int64_t>> none = {{0}};
  if (required && !params.Has(key)) none = std::nullopt;
  const std::vector<int64_t> p = params.Ints(key, 0, none);
  if (AnyBelow(p, 0)) {
    params.Fail(key, absl::StrCat("\"", std::string(key),
                                  "\" has a negative number of pixels"));
  }
  if (p.size() == 1) return {p[0], p[0], p[0], p[0]};
  if (p.size() == 2) return {p[0], p[1], p[0], p[1]};
  if (p.size() == 4) return {p[0], p[1], p[2], p[3]};
  if (params.Has(key)) {
    params.Fail(key, absl::StrCat("\"", std::string(key), "\" has ", p.size(),
                                  " numbers, expected 1, 2 or 4"));
  }
  return {};
}

std::string ToString(Size size) {
  return absl::StrCat(size.height, "x", size.width);
}

}  // namespace slipway::vision_classification
