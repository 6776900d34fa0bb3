// RandomErase: a random rectangle of an image becomes one value, or noise.
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

double ReadProbability(recipe::Params& params) {
  return params.Double("probability", {.min = 0, .max = 1});
}

class RandomErase : public data::Transform {
 public:
  // No value: noise.
  RandomErase(double probability, std::optional<double> value)
      : probability_(probability), value_(value) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    if (sample.image.scalar_type() != at::kFloat) {
      return absl::InvalidArgumentError(
          "RandomErase takes floats; list ToTensor before it");
    }
    if (rng.Uniform() >= probability_) return absl::OkStatus();
    const Size have = SizeOf(sample.image);
    const std::optional<Size> size = DrawSize(have, rng);
    if (!size) return absl::OkStatus();
    const int64_t top = rng.Below(have.height - size->height + 1);
    const int64_t left = rng.Below(have.width - size->width + 1);
    sample.image = sample.image.clone();
    Erase(Crop(sample.image, {top, left}, *size), rng);
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "probability") return Transform::Set(parameter, value);
    return SetChecked(parameter, value, ReadProbability, probability_);
  }

 private:
  // As torchvision's RandomErasing; nullopt where none of ten fits.
  static std::optional<Size> DrawSize(Size have, data::Rng& rng) {
    const double all = static_cast<double>(have.height * have.width);
    for (int i = 0; i < 10; ++i) {
      const double area = all * rng.Uniform(0.02, 0.33);
      const double ratio = std::exp(rng.Uniform(std::log(0.3), std::log(3.3)));
      const int64_t height = std::lrint(std::sqrt(area * ratio));
      const int64_t width = std::lrint(std::sqrt(area / ratio));
      if (height < have.height && width < have.width) {
        return Size{height, width};
      }
    }
    return std::nullopt;
  }

  void Erase(at::Tensor part, data::Rng& rng) const {
    if (value_) {
      part.fill_(*value_);
      return;
    }
    at::Tensor noise = part.contiguous().clone();
    float* values = noise.mutable_data_ptr<float>();
    for (int64_t i = 0; i < noise.numel(); ++i) {
      values[i] = static_cast<float>(rng.Normal());
    }
    part.copy_(noise);
  }

  double probability_;
  const std::optional<double> value_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildRandomErase(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform RandomErase", [](recipe::Params& params) {
        const double probability = ReadProbability(params);
        const recipe::Node* value = params.Raw("value");
        std::optional<double> number;
        double parsed = 0;
        if (value == nullptr) {
          params.Fail("value", "transform RandomErase needs a \"value\"",
                      "a number, or random");
        } else if (value->is_number()) {
          number = value->AsDouble();
        } else if (value->is_string() &&
                   absl::SimpleAtod(value->AsString(), &parsed)) {
          number = parsed;
        } else if (!value->is_string() || value->AsString() != "random") {
          params.Fail("value",
                      "\"value\" of transform RandomErase is neither "
                      "a number nor random");
        }
        return std::make_unique<RandomErase>(probability, number);
      });
}

}  // namespace slipway::vision_classification
