// Sizes, paddings and crops of images, whichever way their dimensions lie.
//
//   absl::StatusOr<at::Tensor> cut = Crop(image, {.top = 2, .left = 3}, {8,
//   8});
//
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_GEOMETRY_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_GEOMETRY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/params.h"

namespace slipway::vision_classification {

struct Size {
  int64_t height = 0;
  int64_t width = 0;
};

struct Corner {
  int64_t top = 0;
  int64_t left = 0;
};

struct Padding {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;
};

// OK if `image` is uint8[height, width, channels] or
// float[channels, height, width]; else INVALID_ARGUMENT tells what it is.
absl::Status CheckImage(const at::Tensor& image);

// Decodes `image` where it is a file that waits for that (images/pixels.h), and
// then the same.
absl::Status NeedImage(at::Tensor& image);

// The same, and OK only for byte[height, width, 3]; else INVALID_ARGUMENT,
// which begins with `owner`.
absl::Status NeedColours(std::string_view owner, at::Tensor& image);

// The dimension of an image that is its height, or its width.
int HeightDim(const at::Tensor& image);
int WidthDim(const at::Tensor& image);

Size SizeOf(const at::Tensor& image);

// A view of the part of `image` from `corner` on, which must lie inside it.
at::Tensor Crop(const at::Tensor& image, Corner corner, Size size);

// A copy with `padding` pixels of `fill` around it.
at::Tensor Pad(const at::Tensor& image, const Padding& padding, double fill);

// The one or two positive numbers of a size, which the recipe must give. After
// an error the result is one that can be computed with.
std::vector<int64_t> ReadSides(recipe::Params& params, std::string_view key);

// One number for both sides, or [height, width].
Size ReadSize(recipe::Params& params, std::string_view key);

// One number, [left and right, top and bottom], or [left, top, right, bottom];
// none below 0. No padding if the key is absent and `required` is false.
Padding ReadPadding(recipe::Params& params, std::string_view key,
                    bool required);

// "8x6": height and width, for messages.
std::string ToString(Size size);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_GEOMETRY_H_
