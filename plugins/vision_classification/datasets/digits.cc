#include "plugins/vision_classification/datasets/digits.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ATen/ops/empty.h"
#include "ATen/ops/scalar_tensor.h"
#include "absl/strings/str_cat.h"

namespace slipway::vision_classification {
namespace {

constexpr int64_t kImages = 1797;
constexpr int64_t kSide = 8;
constexpr int64_t kPixels = kSide * kSide;

// A line is an image's 64 greys, 0 to g for 0 to 16, a space, and its digit.
constexpr int64_t kLine = kPixels + 3;
constexpr std::string_view kDigits =
#include "plugins/vision_classification/datasets/digits.inc"
    ;
static_assert(kDigits.size() == kImages * kLine);

constexpr int16_t kValidation[] = {
#include "plugins/vision_classification/datasets/digits_validation.inc"
};

uint8_t GreyOf(char digit) {
  const int sixteenths = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  return static_cast<uint8_t>((sixteenths * 255 + 8) / 16);
}

bool Validates(int64_t line) {
  return std::binary_search(std::begin(kValidation), std::end(kValidation),
                            line);
}

}  // namespace

Digits::Digits(Split split, int64_t channels) : channels_(channels) {
  for (int64_t line = 0; line < kImages; ++line) {
    if (Validates(line) == (split == Split::kValidation)) {
      lines_.push_back(line);
    }
  }
}

int64_t Digits::size() const { return static_cast<int64_t>(lines_.size()); }

absl::StatusOr<data::Sample> Digits::Get(int64_t index) const {
  const std::string_view line = kDigits.substr(lines_[index] * kLine, kLine);
  data::Sample sample;
  sample.image =
      at::empty({kSide, kSide, channels_}, at::TensorOptions(at::kByte));
  uint8_t* pixel = sample.image.mutable_data_ptr<uint8_t>();
  for (char grey : line.substr(0, kPixels)) {
    pixel = std::fill_n(pixel, channels_, GreyOf(grey));
  }
  const int64_t digit = line[kPixels + 1] - '0';
  sample.target = Value(at::scalar_tensor(digit, at::TensorOptions(at::kLong)));
  return sample;
}

std::vector<std::string> Digits::ClassNames() const {
  std::vector<std::string> names;
  for (int digit = 0; digit < 10; ++digit) names.push_back(absl::StrCat(digit));
  return names;
}

}  // namespace slipway::vision_classification
