// RandomResizedCropAndInterpolation: a random part of an image, in one size.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/images/pixels.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/interpolate.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

// From the least to the most.
struct Interval {
  double least = 0;
  double most = 0;
};

struct ResizedCropOptions {
  Size size;
  // Shares of the image's area, and width by height.
  Interval scale;
  Interval ratio;
  // One of them is drawn for each image.
  std::vector<Filter> filters;
};

Interval ReadInterval(recipe::Params& params, std::string_view key,
                      const std::vector<double>& fallback) {
  const std::vector<double> ends = params.Doubles(key, 2, fallback);
  if (ends.size() != 2) return {fallback[0], fallback[1]};
  if (!(ends[0] > 0 && ends[0] <= ends[1])) {
    params.Fail(key, "the interval must be above 0, its lower end first");
  }
  return {ends[0], ends[1]};
}

std::vector<Filter> ReadFilters(recipe::Params& params) {
  std::vector<std::string> names = FilterNames();
  names.insert(names.end(), {"default", "random"});
  const std::string name = params.Text("interpolation", "default", names);
  if (name == "random") return {Filter::kBilinear, Filter::kBicubic};
  return {FilterNamed(name)};
}

int64_t Rounded(double pixels) { return std::lrint(pixels); }

// The largest part in the middle whose ratio is allowed.
Area MiddleOf(Size have, const Interval& ratio) {
  const double height = static_cast<double>(have.height);
  const double width = static_cast<double>(have.width);
  Size size = have;
  if (width / height < ratio.least) {
    size.height = std::min(Rounded(width / ratio.least), have.height);
  } else if (width / height > ratio.most) {
    size.width = std::min(Rounded(height * ratio.most), have.width);
  }
  return {(have.height - size.height) / 2, (have.width - size.width) / 2,
          size.height, size.width};
}

// As torchvision's RandomResizedCrop draws it.
Area DrawArea(Size have, const ResizedCropOptions& options, data::Rng& rng) {
  constexpr int kTries = 10;
  const double all = static_cast<double>(have.height * have.width);
  for (int i = 0; i < kTries; ++i) {
    const double area =
        all * rng.Uniform(options.scale.least, options.scale.most);
    const double ratio = std::exp(rng.Uniform(std::log(options.ratio.least),
                                              std::log(options.ratio.most)));
    const int64_t width = Rounded(std::sqrt(area * ratio));
    const int64_t height = Rounded(std::sqrt(area / ratio));
    if (width > 0 && width <= have.width && height > 0 &&
        height <= have.height) {
      const int64_t top = rng.Below(have.height - height + 1);
      const int64_t left = rng.Below(have.width - width + 1);
      return {top, left, height, width};
    }
  }
  return MiddleOf(have, options.ratio);
}

class ResizedCrop : public data::Transform {
 public:
  explicit ResizedCrop(ResizedCropOptions options)
      : options_(std::move(options)) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    const absl::StatusOr<Size> have = SizeOfAny(sample.image);
    if (!have.ok()) return have.status();
    const Area area = DrawArea(*have, options_, rng);
    const size_t filter =
        options_.filters.size() == 1
            ? 0
            : static_cast<size_t>(rng.Below(options_.filters.size()));
    absl::StatusOr<at::Tensor> result =
        IsEncoded(sample.image)
            ? DecodedAndResized(sample.image, area, options_.size,
                                options_.filters[filter])
            : Resized(sample.image, area, options_.size,
                      options_.filters[filter]);
    if (!result.ok()) return result.status();
    sample.image = *std::move(result);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "size") return Transform::Set(parameter, value);
    return SetChecked(
        parameter, value,
        [](recipe::Params& params) { return ReadSize(params, "size"); },
        options_.size);
  }

 private:
  ResizedCropOptions options_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildRandomResizedCrop(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform RandomResizedCropAndInterpolation",
      [](recipe::Params& params) {
        ResizedCropOptions options;
        options.size = ReadSize(params, "size");
        options.scale = ReadInterval(params, "scale", {0.08, 1});
        options.ratio = ReadInterval(params, "ratio", {3.0 / 4, 4.0 / 3});
        options.filters = ReadFilters(params);
        return std::make_unique<ResizedCrop>(std::move(options));
      });
}

}  // namespace slipway::vision_classification
