// RandAugmentTransform, ColorJitter, Lighting and RandomErase.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/transforms/testing.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

constexpr char kRandAugment[] = "RandAugmentTransform";

// byte[20, 30, 3] of many values.
at::Tensor Bytes() {
  return at::arange(20 * 30 * 3)
      .mul(7)
      .remainder(256)
      .view({20, 30, 3})
      .to(at::kByte);
}

std::string AugmentParams(const std::string& config) {
  return "{config_str: " + config +
         ", crop_size: 224, img_mean: [0.485, 0.456, 0.406]}";
}

TEST(RandAugment, DrawsOtherChangesForEachStream) {
  const std::string params = AugmentParams("rand-m9-mstd0.5");
  const at::Tensor image = Bytes();
  int unchanged = 0;
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor result = Apply(kRandAugment, params, image, seed).value();
    EXPECT_EQ(result.sizes(), image.sizes());
    EXPECT_TRUE(
        at::equal(result, Apply(kRandAugment, params, image, seed).value()));
    unchanged += at::equal(result, image) ? 1 : 0;
    seen.emplace(reinterpret_cast<const char*>(result.const_data_ptr()), 1800);
  }
  EXPECT_TRUE(at::equal(image, Bytes())) << "the image itself was changed";
  // Two changes, each left out half of the time: 50 of 200.
  EXPECT_GT(unchanged, 25);
  EXPECT_LT(unchanged, 90);
  EXPECT_GT(seen.size(), 80u);
}

TEST(RandAugment, TakesEachPartOfItsSpecification) {
  for (const char* config : {"rand", "rand-m5", "rand-n4", "rand-w0-n3",
                             "rand-m9-n3-mstd0.5-inc1", "rand-mstd1-w0"}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_TRUE(
          Apply(kRandAugment, AugmentParams(config), Bytes(), seed).ok())
          << config;
    }
  }
  for (const char* config :
       {"rand-x5", "m", "rand-m9.5", "rand-w1", "rand-w0-n14"}) {
    EXPECT_EQ(Build(kRandAugment, AugmentParams(config)).transform, nullptr)
        << config;
  }
}

TEST(RandAugment, MovesColoursOfTheMeanIn) {
  // White images show what came from outside.
  const at::Tensor white =
      at::full({40, 40, 3}, 255, at::TensorOptions(at::kByte));
  bool found = false;
  for (uint64_t seed = 0; seed < 60 && !found; ++seed) {
    const at::Tensor result =
        Apply(kRandAugment, AugmentParams("rand-m10-n1"), white, seed).value();
    const at::Tensor corner = result.select(0, 0).select(0, 0);
    found = corner[0].item<int64_t>() == 124 &&
            corner[1].item<int64_t>() == 116 &&
            corner[2].item<int64_t>() == 104;
  }
  EXPECT_TRUE(found);
}

TEST(RandAugment, NeedsBytes) {
  EXPECT_EQ(
      Apply(kRandAugment, AugmentParams("rand"), at::zeros({3, 8, 8})).status(),
      absl::InvalidArgumentError(
          "RandAugmentTransform changes byte[height, width, 3], found "
          "float[3, 8, 8]; list it before ToTensor"));
}

TEST(ColorJitter, ChangesWithinItsRanges) {
  const at::Tensor grey =
      at::full({4, 4, 3}, 100, at::TensorOptions(at::kByte));
  double least = 255;
  double most = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const double value = Apply("ColorJitter", "{brightness: 0.4}", grey, seed)
                             ->select(0, 0)[0][0]
                             .item<double>();
    EXPECT_GE(value, 59);
    EXPECT_LE(value, 140);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_LT(least, 70);
  EXPECT_GT(most, 130);
  EXPECT_TRUE(at::equal(Apply("ColorJitter", "", Bytes()).value(), Bytes()));
  EXPECT_TRUE(Apply("ColorJitter",
                    "{brightness: [0.5, 1], contrast: 0.4, saturation: 0.4, "
                    "hue: 0.1}",
                    Bytes())
                  .ok());
  EXPECT_EQ(Build("ColorJitter", "{hue: 0.6}").transform, nullptr);
  EXPECT_EQ(Build("ColorJitter", "{contrast: -1}").transform, nullptr);
}

TEST(Lighting, AddsOneColourToAllPixels) {
  const at::Tensor image = at::zeros({3, 5, 6});
  const at::Tensor result =
      Apply("Lighting", "{alphastd: 0.1}", image, 1).value();
  for (int64_t c = 0; c < 3; ++c) {
    const at::Tensor channel = result.select(0, c);
    EXPECT_EQ(channel.min().item<double>(), channel.max().item<double>());
    EXPECT_NE(channel.max().item<double>(), 0);
    EXPECT_LT(std::abs(channel.max().item<double>()), 0.1);
  }
  EXPECT_TRUE(
      at::equal(Apply("Lighting", "{alphastd: 0}", image, 1).value(), image));
  EXPECT_FALSE(Apply("Lighting", "{alphastd: 0.1}", Bytes()).ok());
}

TEST(RandomErase, ErasesRectanglesOfTorchvisionsAreas) {
  const at::Tensor image = at::zeros({3, 50, 60});
  double mean = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const at::Tensor result =
        Apply("RandomErase", "{probability: 1, value: \"2\"}", image, seed)
            .value();
    const at::Tensor erased = result.select(0, 0).eq(2);
    const int64_t area = erased.sum().item<int64_t>();
    EXPECT_EQ(erased.any(0).sum().item<int64_t>() *
                  erased.any(1).sum().item<int64_t>(),
              area);
    EXPECT_GE(area / 3000.0, 0.015);
    EXPECT_LE(area / 3000.0, 0.35);
    mean += area / 3000.0 / 100;
  }
  EXPECT_NEAR(mean, 0.17, 0.04);
  EXPECT_EQ(image.abs().max().item<double>(), 0);
}

TEST(RandomErase, FillsWithNoiseAsOftenAsItsProbabilitySays) {
  const at::Tensor image = at::full({3, 50, 60}, 9.0);
  int erased = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor result =
        Apply("RandomErase", "{probability: 0.2, value: random}", image, seed)
            .value();
    if (at::equal(result, image)) continue;
    ++erased;
    EXPECT_LT(result.min().item<double>(), 0);
  }
  EXPECT_GT(erased, 20);
  EXPECT_LT(erased, 65);
  EXPECT_FALSE(
      Apply("RandomErase", "{probability: 1, value: 0}", Bytes()).ok());
  EXPECT_EQ(Build("RandomErase", "{probability: 1, value: noise}").transform,
            nullptr);
}

}  // namespace
}  // namespace slipway::vision_classification
