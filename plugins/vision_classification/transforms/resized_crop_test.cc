// RandomResizedCropAndInterpolation and Resize, of pixels and of files.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/zeros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/images/pixels.h"
#include "plugins/vision_classification/transforms/testing.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

using testing::HasSubstr;

constexpr char kCrop[] = "RandomResizedCropAndInterpolation";

at::Tensor File(const std::string& name) {
  std::ifstream file(
      "plugins/vision_classification/images/testdata/golden/" + name,
      std::ios::binary);
  EXPECT_TRUE(file) << name;
  return EncodedTensor({std::istreambuf_iterator<char>(file), {}}, name);
}

at::Tensor Decoded(const std::string& name) {
  at::Tensor image = File(name);
  EXPECT_TRUE(DecodeIfEncoded(image).ok());
  return image;
}

// byte[height, width, 3]: each pixel holds its row, its column and 7.
at::Tensor Places(int64_t height, int64_t width) {
  at::Tensor image =
      at::zeros({height, width, 3}, at::TensorOptions(at::kByte));
  image.select(2, 0).copy_(at::arange(height).view({-1, 1}));
  image.select(2, 1).copy_(at::arange(width).view({1, -1}));
  image.select(2, 2).fill_(7);
  return image;
}

double MeanDifference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return a.to(at::kFloat).sub(b.to(at::kFloat)).abs().mean().item<double>();
}

TEST(ResizedCrop, HasItsSizeWhateverTheImage) {
  for (const auto& [height, width] :
       {std::pair{200, 100}, {3, 250}, {250, 3}, {1, 1}, {224, 224}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const at::Tensor image =
          Apply(kCrop, "{size: [8, 6]}", Places(height, width), seed).value();
      EXPECT_EQ(image.sizes(), at::IntArrayRef({8, 6, 3}));
      EXPECT_EQ(image.select(2, 2).min().item<int64_t>(), 7);
    }
  }
}

// Rows and columns of nearest pixels tell the area.
TEST(ResizedCrop, DrawsAreasAsTorchvisionDoes) {
  double areas = 0;
  double wide = 0;
  std::set<int64_t> tops;
  constexpr int kDraws = 400;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const at::Tensor image = Apply(kCrop, "{size: 100, interpolation: nearest}",
                                   Places(200, 200), seed)
                                 .value();
    const auto span = [&](int64_t channel) {
      const at::Tensor places = image.select(2, channel).to(at::kLong);
      return places.max().sub(places.min()).item<int64_t>() * 100.0 / 99;
    };
    const double height = span(0);
    const double width = span(1);
    areas += height * width / 40000 / kDraws;
    wide += width > height ? 1.0 / kDraws : 0;
    EXPECT_GE(height * width / 40000, 0.06);
    EXPECT_LE(width / height, 1.45);
    EXPECT_GE(width / height, 0.68);
    tops.insert(image.select(2, 0).min().item<int64_t>());
  }
  // Uniform from 0.08 to 1, less what does not fit.
  EXPECT_NEAR(areas, 0.50, 0.05);
  EXPECT_NEAR(wide, 0.5, 0.08);
  EXPECT_GT(tops.size(), 50u);
}

TEST(ResizedCrop, DrawsFromItsStreamAlone) {
  const at::Tensor image = Decoded("rgb.png");
  const std::string params = "{size: 20, interpolation: random}";
  const at::Tensor first = Apply(kCrop, params, image, 5).value();
  EXPECT_TRUE(at::equal(Apply(kCrop, params, image, 5).value(), first));
  EXPECT_FALSE(at::equal(Apply(kCrop, params, image, 6).value(), first));
}

// At an eighth of these few noisy pixels libjpeg's averages differ from
// Pillow's filter by up to 8.4 of 255.
TEST(ResizedCrop, DecodesOfAFileWhatItNeeds) {
  for (const char* name : {"full_colour.jpg", "progressive.jpg", "cmyk.jpg",
                           "rgb.png", "lossless.webp"}) {
    for (const char* params :
         {"{size: 40}", "{size: 10}", "{size: 4}",
          "{size: [9, 5], interpolation: bicubic, scale: [0.5, 1]}"}) {
      for (uint64_t seed = 0; seed < 8; ++seed) {
        const at::Tensor fast = Apply(kCrop, params, File(name), seed).value();
        const at::Tensor exact =
            Apply(kCrop, params, Decoded(name), seed).value();
        EXPECT_LT(MeanDifference(fast, exact), 9)
            << name << " " << params << " " << seed;
      }
    }
  }
}

TEST(Resize, DecodesOfAFileWhatItNeeds) {
  for (const char* name : {"baseline.jpg", "grey.jpg", "palette.png"}) {
    for (const char* params : {"{size: 30}", "{size: 9}", "{size: [4, 5]}"}) {
      EXPECT_LT(MeanDifference(Apply("Resize", params, File(name)).value(),
                               Apply("Resize", params, Decoded(name)).value()),
                9)
          << name << " " << params;
    }
    // At full size the bytes are the same.
    EXPECT_TRUE(at::equal(Apply("Resize", "{size: 37}", File(name)).value(),
                          Decoded(name)));
  }
}

TEST(Transforms, DecodeAFileThatComesToThemFirst) {
  for (const char* name : {"CenterCrop", "RandomCrop"}) {
    EXPECT_TRUE(at::equal(
        Apply(name, "{size: 8}", File("baseline.jpg"), 3).value(),
        Apply(name, "{size: 8}", Decoded("baseline.jpg"), 3).value()));
  }
  EXPECT_EQ(Apply("ToTensor", "", File("baseline.jpg"))->sizes(),
            at::IntArrayRef({3, 37, 45}));
}

TEST(Transforms, NameTheFileThatTheyCannotDecode) {
  at::Tensor cut = EncodedTensor(
      std::string(EncodedBytes(File("baseline.jpg")).substr(0, 700)), "x.jpg");
  for (const char* name : {kCrop, "Resize", "CenterCrop"}) {
    const absl::Status status = Apply(name, "{size: [37, 45]}", cut).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("x.jpg: the JPEG ends before its image does"))
        << name;
  }
}

TEST(ResizedCrop, ReportsWhatIsWrongWithItsParameters) {
  const Built built =
      Build(kCrop, "{size: 8, scale: [1, 0.5], interpolation: cubic}");
  EXPECT_EQ(built.transform, nullptr);
  EXPECT_EQ(FormatProblems(built.problems),
            R"(error: the interval must be above 0, its lower end first
  where:  r.yaml:1:18
error: "interpolation" of transform RandomResizedCropAndInterpolation is "cubic"
  detail: expected one of nearest, box, bilinear, hamming, bicubic, lanczos, default, random, found text "cubic"
  where:  r.yaml:1:43
  hint:   did you mean "bicubic"?
)");
}

}  // namespace
}  // namespace slipway::vision_classification
