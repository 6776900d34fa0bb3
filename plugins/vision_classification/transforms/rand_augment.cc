// RandAugmentTransform: a few of fifteen changes of an image, drawn at random.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/transforms/enhance.h"
#include "plugins/vision_classification/transforms/geometry.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

constexpr double kMostMagnitude = 10;

// What config_str says: "rand-m9-n2-mstd0.5-w0-inc1".
struct Config {
  double magnitude = kMostMagnitude;
  // Of the normal distribution around it.
  double magnitude_std = 0;
  int64_t layers = 2;
  bool weighted = false;
  // Changes that all grow with the magnitude.
  bool increasing = false;
};

struct Drawn {
  double level = 0;  // 0 to 1
  bool increasing = false;
  std::array<uint8_t, 3> fill = {};
};

// `value` or -value.
double Signed(double value, data::Rng& rng) {
  return rng.Uniform() > 0.5 ? -value : value;
}

// 0.1 to 1.9, or one that lies the further from 1 the larger the level is.
double EnhanceFactor(const Drawn& drawn, data::Rng& rng) {
  if (drawn.increasing) return 1 + Signed(drawn.level * 0.9, rng);
  return drawn.level * 1.8 + 0.1;
}

using Change = void (*)(at::Tensor& image, const Drawn& drawn, data::Rng& rng);

void ChangeRotation(at::Tensor& image, const Drawn& drawn, data::Rng& rng) {
  Rotate(image, Signed(drawn.level * 30, rng), drawn.fill);
}

void ChangeBits(at::Tensor& image, const Drawn& drawn, data::Rng&) {
  const int bits = static_cast<int>(drawn.level * 4);
  Posterize(image, drawn.increasing ? 4 - bits : bits);
}

void ChangeSolarization(at::Tensor& image, const Drawn& drawn, data::Rng&) {
  const int threshold = static_cast<int>(drawn.level * 256);
  Solarize(image, drawn.increasing ? 256 - threshold : threshold);
}

void ShearX(at::Tensor& image, const Drawn& drawn, data::Rng& rng) {
  Affine(image, {1, Signed(drawn.level * 0.3, rng), 0, 0, 1, 0}, drawn.fill);
}

void ShearY(at::Tensor& image, const Drawn& drawn, data::Rng& rng) {
  Affine(image, {1, 0, 0, Signed(drawn.level * 0.3, rng), 1, 0}, drawn.fill);
}

void TranslateX(at::Tensor& image, const Drawn& drawn, data::Rng& rng) {
  const double share = Signed(drawn.level * 0.45, rng);
  Affine(image, {1, 0, share * static_cast<double>(image.size(1)), 0, 1, 0},
         drawn.fill);
}

void TranslateY(at::Tensor& image, const Drawn& drawn, data::Rng& rng) {
  const double share = Signed(drawn.level * 0.45, rng);
  Affine(image, {1, 0, 0, 0, 1, share * static_cast<double>(image.size(0))},
         drawn.fill);
}

struct Operation {
  Change change;
  // Of being drawn, with `w0`.
  double weight;
};

// In timm's order.
const std::array<Operation, 15>& Operations() {
  static const std::array<Operation, 15> operations = {{
      {[](at::Tensor& i, const Drawn&, data::Rng&) { AutoContrast(i); }, 0.025},
      {[](at::Tensor& i, const Drawn&, data::Rng&) { Equalize(i); }, 0.005},
      {[](at::Tensor& i, const Drawn&, data::Rng&) { Invert(i); }, 0},
      {ChangeRotation, 0.3},
      {ChangeBits, 0},
      {ChangeSolarization, 0.005},
      {[](at::Tensor& i, const Drawn& d, data::Rng&) {
         SolarizeAdd(i, static_cast<int>(d.level * 110));
       },
       0.005},
      {[](at::Tensor& i, const Drawn& d, data::Rng& r) {
         Color(i, EnhanceFactor(d, r));
       },
       0.025},
      {[](at::Tensor& i, const Drawn& d, data::Rng& r) {
         Contrast(i, EnhanceFactor(d, r));
       },
       0.005},
      {[](at::Tensor& i, const Drawn& d, data::Rng& r) {
         Brightness(i, EnhanceFactor(d, r));
       },
       0.005},
      {[](at::Tensor& i, const Drawn& d, data::Rng& r) {
         Sharpness(i, EnhanceFactor(d, r));
       },
       0.025},
      {ShearX, 0.2},
      {ShearY, 0.2},
      {TranslateX, 0.1},
      {TranslateY, 0.1},
  }};
  return operations;
}

// Reads "m9" and its like; false for what is none.
bool ReadSection(const std::string& section, Config& config) {
  const size_t digit = section.find_first_of("0123456789");
  // Names without a number, such as "rand", say nothing else.
  if (digit == std::string::npos) return section == "rand";
  const std::string key = section.substr(0, digit);
  const std::string number = section.substr(digit);
  if (key == "mstd") {
    return absl::SimpleAtod(number, &config.magnitude_std) &&
           std::isfinite(config.magnitude_std);
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(number, &value)) return false;
  if (key == "m") {
    config.magnitude = static_cast<double>(value);
  } else if (key == "n") {
    config.layers = value;
    return value >= 1 && value <= 100;
  } else if (key == "w") {
    config.weighted = true;
    return value == 0;
  } else if (key == "inc") {
    config.increasing = value != 0;
  } else {
    return false;
  }
  return true;
}

Config ReadConfig(recipe::Params& params) {
  Config config;
  const std::string text = params.Text("config_str");
  for (const std::string& section :
       std::vector<std::string>(absl::StrSplit(text, '-'))) {
    if (text.empty() || ReadSection(section, config)) continue;
    params.Fail("config_str",
                absl::StrCat("\"config_str\" of transform RandAugmentTransform "
                             "has a part \"",
                             section, "\""),
                "parts are rand, m<magnitude>, n<layers>, mstd<deviation>, w0 "
                "and inc1, with - between them");
  }
  // Drawn without putting back, of thirteen that have a weight.
  if (config.weighted && config.layers > 13) {
    params.Fail("config_str",
                "\"config_str\" draws more than 13 weighted "
                "changes");
  }
  return config;
}

class RandAugment : public data::Transform {
 public:
  RandAugment(const Config& config, const std::array<uint8_t, 3>& fill)
      : config_(config), fill_(fill) {}

  absl::Status Apply(data::Sample& sample, const data::Dataset&,
                     data::Rng& rng) const override {
    if (absl::Status s = NeedColours("RandAugmentTransform", sample.image);
        !s.ok()) {
      return s;
    }
    sample.image = OwnBytes(sample.image);
    for (const size_t operation : Draw(rng)) {
      // Each is left out as often as not.
      if (rng.Uniform() > 0.5) continue;
      double magnitude = config_.magnitude;
      if (config_.magnitude_std > 0) {
        magnitude += config_.magnitude_std * rng.Normal();
      }
      const Drawn drawn = {
          .level = std::clamp(magnitude, 0.0, kMostMagnitude) / kMostMagnitude,
          .increasing = config_.increasing,
          .fill = fill_};
      Operations()[operation].change(sample.image, drawn, rng);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<size_t> Draw(data::Rng& rng) const {
    std::vector<size_t> drawn;
    std::array<double, 15> weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = Operations()[i].weight;
    }
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      if (!config_.weighted) {
        drawn.push_back(rng.Below(weights.size()));
        continue;
      }
      double left = 0;
      for (double weight : weights) left += weight;
      double place = rng.Uniform() * left;
      size_t last = 0;
      for (size_t i = 0; i < weights.size() && place >= 0; ++i) {
        if (weights[i] > 0) last = i;
        place -= weights[i];
      }
      weights[last] = 0;
      drawn.push_back(last);
    }
    return drawn;
  }

  const Config config_;
  const std::array<uint8_t, 3> fill_;
};

}  // namespace

std::unique_ptr<data::Transform> BuildRandAugment(const BuildArgs& args) {
  return BuildChecked<data::Transform>(
      args, "transform RandAugmentTransform", [](recipe::Params& params) {
        const Config config = ReadConfig(params);
        // Only of changes that no config_str names.
        params.Int("crop_size", {.fallback = 224, .min = 1});
        std::vector<double> mean = params.Doubles("img_mean", 3);
        mean.resize(3);
        std::array<uint8_t, 3> fill;
        for (size_t c = 0; c < 3; ++c) {
          fill[c] = static_cast<uint8_t>(
              std::clamp(std::nearbyint(255 * mean[c]), 0.0, 255.0));
        }
        return std::make_unique<RandAugment>(config, fill);
      });
}

}  // namespace slipway::vision_classification
