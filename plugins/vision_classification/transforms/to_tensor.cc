// ToTensor and Normalize: from bytes to what models take.
#include <algorithm>
#include <memory>
#include <vector>

#include "ATen/ops/from_blob.h"
#include "ATen/ops/tensor.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"
#include "trainer/nn/value.h"

namespace slipway::vision_classification {
namespace {

class ToTensor : public data::Transform {
 public:
  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    if (sample.image.scalar_type() != at::kByte) {
      return absl::InvalidArgumentError(
          absl::StrCat("the image is ", Value(sample.image).ShapeString(),
                       " already; list ToTensor once"));
    }
    sample.image = sample.image.permute({2, 0, 1}).to(at::kFloat).div_(255);
    return absl::OkStatus();
  }
};

// One number a channel, beside an image's height and width.
at::Tensor PerChannel(const std::vector<double>& numbers) {
  return at::tensor(numbers).to(at::kFloat).view({-1, 1, 1});
}

class Normalize : public data::Transform {
 public:
  Normalize(const std::vector<double>& mean, const std::vector<double>& std)
      : mean_(PerChannel(mean)), std_(PerChannel(std)) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng&) const override {
    if (absl::Status s = NeedImage(sample.image); !s.ok()) return s;
    if (sample.image.scalar_type() != at::kFloat) {
      return absl::InvalidArgumentError(
          absl::StrCat("the image is ", Value(sample.image).ShapeString(),
                       "; list ToTensor before Normalize"));
    }
    for (const at::Tensor& numbers : {mean_, std_}) {
      if (numbers.size(0) != 1 && numbers.size(0) != sample.image.size(0)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "there are ", numbers.size(0), " numbers for an image of ",
            sample.image.size(0), " channels"));
      }
    }
    sample.image = sample.image.sub(mean_).div_(std_);
    return absl::OkStatus();
  }

 private:
  const at::Tensor mean_;
  const at::Tensor std_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildToTensor(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform ToTensor",
      [](recipe::Params&) { return std::make_unique<ToTensor>(); });
}

std::unique_ptr<data::Transform> BuildNormalize(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform Normalize", [](recipe::Params& params) {
        const std::vector<double> mean = params.Doubles("mean", 0);
        const std::vector<double> std = params.Doubles("std", 0);
        if (std::count(std.begin(), std.end(), 0) > 0) {
          params.Fail("std", "\"std\" of transform Normalize has a zero",
                      "an image is divided by it");
        }
        params.Ignore("inplace");
        return std::make_unique<Normalize>(mean, std);
      });
}

}  // namespace slipway::vision_classification
