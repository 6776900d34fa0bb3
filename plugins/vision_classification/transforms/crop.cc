// CenterCrop, Pad and RandomCrop: the same pixels, other borders.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

Size ReadOwnSize(recipe::Params& params) { return ReadSize(params, "size"); }

Padding ReadOwnPadding(recipe::Params& params) {
  return ReadPadding(params, "padding", /*required=*/true);
}

double ReadFill(recipe::Params& params) {
  params.Text("padding_mode", "constant", {"constant"});
  return params.Double("fill", {.fallback = 0});
}

at::Tensor PadIfAny(const at::Tensor& image, const Padding& p, double fill) {
  const bool any = p.left > 0 || p.top > 0 || p.right > 0 || p.bottom > 0;
  return any ? Pad(image, p, fill) : image;
}

// By how much `want` is larger.
Size Missing(Size have, Size want) {
  return {std::max<int64_t>(want.height - have.height, 0),
          std::max<int64_t>(want.width - have.width, 0)};
}

class PadTransform : public data::Transform {
 public:
  PadTransform(const Padding& padding, double fill)
      : padding_(padding), fill_(fill) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    sample.image = PadIfAny(sample.image, padding_, fill_);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "padding") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadOwnPadding, padding_);
  }

 private:
  Padding padding_;
  const double fill_;
};

class CenterCrop : public data::Transform {
 public:
  explicit CenterCrop(Size size) : size_(size) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    const Size missing = Missing(SizeOf(sample.image), size_);
    const Padding padding = {missing.width / 2, missing.height / 2,
                             (missing.width + 1) / 2, (missing.height + 1) / 2};
    const at::Tensor image = PadIfAny(sample.image, padding, 0);
    const Size have = SizeOf(image);
    sample.image = Crop(
        image,
        {HalfOf(have.height - size_.height), HalfOf(have.width - size_.width)},
        size_);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "size") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadOwnSize, size_);
  }

 private:
  // Python's rounding: of halves to the even number.
  static int64_t HalfOf(int64_t pixels) {
    return std::lrint(static_cast<double>(pixels) / 2);
  }

  Size size_;
};

struct RandomCropOptions {
  Size size;
  Padding padding;
  bool pad_if_needed = false;
  double fill = 0;
};

class RandomCrop : public data::Transform {
 public:
  explicit RandomCrop(const RandomCropOptions& options) : options_(options) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    const at::Tensor image = Padded(sample.image);
    const Size have = SizeOf(image);
    const Size want = options_.size;
    if (have.height < want.height || have.width < want.width) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a crop of ", ToString(want), " does not fit an image of ",
          ToString(have), " with its padding; set pad_if_needed or resize it"));
    }
    const int64_t top = rng.Below(have.height - want.height + 1);
    const int64_t left = rng.Below(have.width - want.width + 1);
    sample.image = Crop(image, {top, left}, want);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter == "size") {
      return SetChecked(parameter, value, ReadOwnSize, options_.size);
    }
    if (parameter == "padding") {
      return SetChecked(parameter, value, ReadOwnPadding, options_.padding);
    }
    return Transform::Set(parameter, value);
  }

 private:
  at::Tensor Padded(const at::Tensor& image) const {
    const at::Tensor padded = PadIfAny(image, options_.padding, options_.fill);
    if (!options_.pad_if_needed) return padded;
    // On both sides, so that every place of the image can be cut.
    const Size missing = Missing(SizeOf(padded), options_.size);
    return PadIfAny(
        padded, {missing.width, missing.height, missing.width, missing.height},
        options_.fill);
  }

  RandomCropOptions options_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildCenterCrop(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform CenterCrop", [](recipe::Params& params) {
        return std::make_unique<CenterCrop>(ReadOwnSize(params));
      });
}

std::unique_ptr<data::Transform> BuildPad(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform Pad", [](recipe::Params& params) {
        const Padding padding = ReadOwnPadding(params);
        return std::make_unique<PadTransform>(padding, ReadFill(params));
      });
}

std::unique_ptr<data::Transform> BuildRandomCrop(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform RandomCrop", [](recipe::Params& params) {
        RandomCropOptions options;
        options.size = ReadOwnSize(params);
        options.padding = ReadPadding(params, "padding", /*required=*/false);
        options.pad_if_needed = params.Bool("pad_if_needed", false);
        options.fill = ReadFill(params);
        return std::make_unique<RandomCrop>(options);
      });
}

}  // namespace slipway::vision_classification
