// RandomHorizontalFlip and RandomVerticalFlip.
#include "ATen/ops/flip.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

using Dimension = int (*)(const at::Tensor& image);

double ReadProbability(recipe::Params& params) {
  return params.Double("p", {.fallback = 0.5, .min = 0, .max = 1});
}

class RandomFlip : public data::Transform {
 public:
  RandomFlip(Dimension dimension, double probability)
      : dimension_(dimension), probability_(probability) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    if (rng.Uniform() < probability_) {
      sample.image = at::flip(sample.image, {dimension_(sample.image)});
    }
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "p") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadProbability, probability_);
  }

 private:
  const Dimension dimension_;
  double probability_;
};

std::unique_ptr<data::Transform> Build(const BuildArgs& args,
                                       std::string_view name,
                                       Dimension dimension) {
  return BuildChecked<data::Transform>(
      args, absl::StrCat("transform ", std::string(name)),
      [dimension](recipe::Params& params) {
        return std::make_unique<RandomFlip>(dimension, ReadProbability(params));
      });
}

}  // namespace

std::unique_ptr<data::Transform> BuildRandomHorizontalFlip(
    const BuildArgs& args) {
  return Build(args, "RandomHorizontalFlip", WidthDim);
}

std::unique_ptr<data::Transform> BuildRandomVerticalFlip(
    const BuildArgs& args) {
  return Build(args, "RandomVerticalFlip", HeightDim);
}

}  // namespace slipway::vision_classification
