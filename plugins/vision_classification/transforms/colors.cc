// ColorJitter and Lighting: other colours in the same places.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/ops/tensor.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/enhance.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

struct Range {
  double low = 0;
  double high = 0;
};

// One number x, for [middle - x, middle + x], or both ends; nullopt for none.
std::optional<Range> ReadRange(recipe::Params& params, std::string_view key,
                               double middle, const Range& bounds) {
  const std::vector<double> ends = params.Doubles(key, 0, {{0}});
  Range range;
  if (ends.size() == 1) {
    range = {std::max(middle - ends[0], bounds.low), middle + ends[0]};
  } else if (ends.size() == 2) {
    range = {ends[0], ends[1]};
  }
  const bool good = (ends.size() == 1 && ends[0] >= 0) || ends.size() == 2;
  if (!good || range.low > range.high || range.low < bounds.low ||
      range.high > bounds.high) {
    params.Fail(key, absl::StrCat("\"", std::string(key),
                                  "\" of transform ColorJitter is not one "
                                  "number from 0 on, or two within ",
                                  bounds.low, " and ", bounds.high));
  }
  if (range.low == middle && range.high == middle) return std::nullopt;
  return range;
}

class ColorJitter : public data::Transform {
 public:
  using Change = void (*)(at::Tensor& image, double factor);
  using Part = std::pair<Change, std::optional<Range>>;

  explicit ColorJitter(std::array<Part, 4> parts) : parts_(std::move(parts)) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedColours("ColorJitter", sample.image); !s.ok()) {
      return s;
    }
    sample.image = OwnBytes(sample.image);
    for (const int64_t i : rng.Permutation(4)) {
      const auto& [change, range] = parts_[i];
      if (range) change(sample.image, rng.Uniform(range->low, range->high));
    }
    return absl::OkStatus();
  }

 private:
  const std::array<Part, 4> parts_;
};

// Noise along the directions in which ImageNet's colours vary most
// (A. Krizhevsky et al., "ImageNet classification with deep convolutional
// neural networks", 2012).
class Lighting : public data::Transform {
 public:
  explicit Lighting(double deviation) : deviation_(deviation) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    if (sample.image.scalar_type() != at::kFloat || sample.image.size(0) != 3) {
      return absl::InvalidArgumentError(
          "Lighting takes colours as floats; list ToTensor before it");
    }
    if (deviation_ == 0) return absl::OkStatus();
    constexpr std::array<double, 3> kValues = {0.2175, 0.0188, 0.0045};
    constexpr std::array<std::array<double, 3>, 3> kVectors = {
        {{-0.5675, 0.7192, 0.4009},
         {-0.5808, -0.0045, -0.8140},
         {-0.5836, -0.6948, 0.4203}}};
    std::vector<double> added(3);
    for (size_t i = 0; i < 3; ++i) {
      const double alpha = deviation_ * rng.Normal();
      for (size_t c = 0; c < 3; ++c) {
        added[c] += kVectors[c][i] * alpha * kValues[i];
      }
    }
    sample.image =
        sample.image.add(at::tensor(added).to(at::kFloat).view({3, 1, 1}));
    return absl::OkStatus();
  }

 private:
  const double deviation_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildColorJitter(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform ColorJitter", [](recipe::Params& params) {
        constexpr Range kFactors = {0, 1e6};
        const auto factor = [&](std::string_view key) {
          return ReadRange(params, key, 1, kFactors);
        };
        return std::make_unique<ColorJitter>(std::array<ColorJitter::Part, 4>{{
            {Brightness, factor("brightness")},
            {Contrast, factor("contrast")},
            {Color, factor("saturation")},
            {Hue, ReadRange(params, "hue", 0, {-0.5, 0.5})},
        }});
      });
}

std::unique_ptr<data::Transform> BuildLighting(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform Lighting", [](recipe::Params& params) {
        return std::make_unique<Lighting>(
            params.Double("alphastd", {.min = 0}));
      });
}

}  // namespace slipway::vision_classification
