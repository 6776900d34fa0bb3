// Resize, with the antialiasing that Pillow has for images.
#include <algorithm>
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

// What `size` says: both sides, or the shorter one alone.
struct Target {
  Size sides;
  bool shorter_side = false;
};

Target ReadTarget(recipe::Params& params) {
  const std::vector<int64_t> sides = ReadSides(params, "size");
  return {{sides.front(), sides.back()}, /*shorter_side=*/sides.size() == 1};
}

Filter ReadFilter(recipe::Params& params) {
  return FilterNamed(params.Text("interpolation", "bilinear", FilterNames()));
}

Size ResizedTo(const Target& target, Size have) {
  if (!target.shorter_side) return target.sides;
  const int64_t shorter = std::min(have.height, have.width);
  // Rounded down, as torchvision does.
  return {target.sides.height * have.height / shorter,
          target.sides.width * have.width / shorter};
}

class Resize : public data::Transform {
 public:
  Resize(const Target& target, Filter filter)
      : target_(target), filter_(filter) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    const absl::StatusOr<Size> have = SizeOfAny(sample.image);
    if (!have.ok()) return have.status();
    const Area all = {0, 0, have->height, have->width};
    const Size want = ResizedTo(target_, *have);
    absl::StatusOr<at::Tensor> result =
        IsEncoded(sample.image)
            ? DecodedAndResized(sample.image, all, want, filter_)
            : Resized(sample.image, all, want, filter_);
    if (!result.ok()) return result.status();
    sample.image = *std::move(result);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "size") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadTarget, target_);
  }

 private:
  Target target_;
  const Filter filter_;
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
        return std::make_unique<Resize>(target, ReadFilter(params));
      });
}

}  // namespace slipway::vision_classification
