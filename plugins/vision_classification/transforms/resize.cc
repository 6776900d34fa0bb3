// Resize, with the antialiasing that torchvision has for images.
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ATen/ops/_upsample_bicubic2d_aa.h"
#include "ATen/ops/_upsample_bilinear2d_aa.h"
#include "ATen/ops/upsample_nearest2d.h"
#include "absl/status/status.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

enum class Interpolation { kNearest, kBilinear, kBicubic };

// What `size` says: both sides, or the shorter one alone.
struct Target {
  Size sides;
  bool shorter_side = false;
};

Target ReadTarget(recipe::Params& params) {
  const std::vector<int64_t> sides = ReadSides(params, "size");
  return {{sides.front(), sides.back()}, /*shorter_side=*/sides.size() == 1};
}

Interpolation ReadInterpolation(recipe::Params& params) {
  const std::string name = params.Text("interpolation", "bilinear",
                                       {"nearest", "bilinear", "bicubic"});
  if (name == "nearest") return Interpolation::kNearest;
  return name == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear;
}

Size ResizedTo(const Target& target, Size have) {
  if (!target.shorter_side) return target.sides;
  const int64_t shorter = std::min(have.height, have.width);
  // Rounded down, as torchvision does.
  return {target.sides.height * have.height / shorter,
          target.sides.width * have.width / shorter};
}

// `images` is [1, channels, height, width].
at::Tensor Interpolate(const at::Tensor& images, Size size,
                       Interpolation interpolation) {
  const std::vector<int64_t> sides = {size.height, size.width};
  switch (interpolation) {
    case Interpolation::kNearest:
      return at::upsample_nearest2d(images, sides);
    case Interpolation::kBilinear:
      return at::_upsample_bilinear2d_aa(images, sides,
                                         /*align_corners=*/false);
    case Interpolation::kBicubic:
      return at::_upsample_bicubic2d_aa(images, sides,
                                        /*align_corners=*/false);
  }
  return images;
}

class Resize : public data::Transform {
 public:
  Resize(const Target& target, Interpolation interpolation)
      : target_(target), interpolation_(interpolation) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    if (absl::Status s = CheckImage(sample.image); !s.ok()) return s;
    const at::Tensor& image = sample.image;
    const Size have = SizeOf(image);
    const Size want = ResizedTo(target_, have);
    if (want.height == have.height && want.width == have.width) {
      return absl::OkStatus();
    }
    if (image.scalar_type() == at::kByte) {
      const at::Tensor planes = image.permute({2, 0, 1}).unsqueeze(0);
      sample.image = Interpolate(planes, want, interpolation_)
                         .squeeze(0)
                         .permute({1, 2, 0});
    } else {
      sample.image =
          Interpolate(image.unsqueeze(0), want, interpolation_).squeeze(0);
    }
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "size") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadTarget, target_);
  }

 private:
  Target target_;
  const Interpolation interpolation_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildResize(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform Resize", [](recipe::Params& params) {
        const Target target = ReadTarget(params);
        if (!params.Bool("antialias", true)) {
          params.Fail("antialias", "transform Resize always antialiases",
                      "leave the key out");
        }
        return std::make_unique<Resize>(target, ReadInterpolation(params));
      });
}

}  // namespace slipway::vision_classification
