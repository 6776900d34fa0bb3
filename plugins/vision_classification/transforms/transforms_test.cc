#include "plugins/vision_classification/transforms/transforms.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/allclose.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/transforms/testing.h"

namespace slipway::vision_classification {
namespace {

// byte[height, width, 2]: pixel (y, x) is 10 y + x, in its second channel too.
at::Tensor Bytes(int64_t height, int64_t width) {
  const at::Tensor rows = at::arange(height).mul(10).view({-1, 1, 1});
  const at::Tensor columns = at::arange(width).view({1, -1, 1});
  return rows.add(columns).expand({height, width, 2}).to(at::kByte);
}

// float[2, height, width]: the same pixels.
at::Tensor Floats(int64_t height, int64_t width) {
  return Bytes(height, width).permute({2, 0, 1}).to(at::kFloat);
}

int64_t Pixel(const at::Tensor& image, int64_t y, int64_t x) {
  const bool bytes = image.scalar_type() == at::kByte;
  return (bytes ? image[y][x][0] : image[0][y][x]).item<int64_t>();
}

std::vector<int64_t> Shape(const at::Tensor& image) {
  return image.sizes().vec();
}

// Of a transform that moves pixels: both kinds of image move alike.
at::Tensor Moved(const std::string& name, const std::string& params,
                 int64_t height, int64_t width, uint64_t seed = 0) {
  const at::Tensor bytes =
      Apply(name, params, Bytes(height, width), seed).value();
  const at::Tensor floats =
      Apply(name, params, Floats(height, width), seed).value();
  EXPECT_TRUE(at::equal(bytes.permute({2, 0, 1}).to(at::kFloat), floats));
  return bytes;
}

TEST(RandomCrop, CutsEveryPlaceOfThePaddedImage) {
  std::set<std::pair<int64_t, int64_t>> places;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const at::Tensor image =
        Moved("RandomCrop", "{size: 4, padding: 1, fill: 99}", 4, 4, seed);
    ASSERT_EQ(Shape(image), (std::vector<int64_t>{4, 4, 2}));
    // The middle is always of the image: 11 + 10 dy + dx, dy and dx -1 to 1.
    const int64_t shift = Pixel(image, 1, 1);
    places.insert({shift / 10 - 1, shift % 10 - 1});
    if (shift == 0) {
      EXPECT_EQ(Pixel(image, 0, 0), 99) << "the padding is not there";
    }
  }
  EXPECT_EQ(places.size(), 9u);
}

TEST(RandomCrop, CutsTheSizeThatItIsTold) {
  EXPECT_EQ(Shape(Moved("RandomCrop", "{size: [2, 3]}", 5, 5)),
            (std::vector<int64_t>{2, 3, 2}));
}

TEST(RandomCrop, PadsWhatIsTooSmallIfAsked) {
  EXPECT_EQ(Shape(Moved("RandomCrop", "{size: 6, pad_if_needed: true}", 4, 9)),
            (std::vector<int64_t>{6, 6, 2}));
}

TEST(RandomCrop, RefusesWhatIsTooSmall) {
  EXPECT_EQ(Apply("RandomCrop", "{size: 40, padding: 1}", Bytes(8, 9)).status(),
            absl::InvalidArgumentError(
                "a crop of 40x40 does not fit an image of 10x11 with its "
                "padding; set pad_if_needed or resize it"));
}

TEST(CenterCrop, TakesTheMiddle) {
  const at::Tensor image = Moved("CenterCrop", "{size: [2, 4]}", 6, 6);
  EXPECT_EQ(Shape(image), (std::vector<int64_t>{2, 4, 2}));
  EXPECT_EQ(Pixel(image, 0, 0), 21);
  // 5 - 2 and 6 - 3 are odd: halves go to the even number, as in torchvision.
  EXPECT_EQ(Pixel(Moved("CenterCrop", "{size: 2}", 5, 5), 0, 0), 22);
  EXPECT_EQ(Pixel(Moved("CenterCrop", "{size: 2}", 3, 3), 0, 0), 0);
}

TEST(CenterCrop, PadsWhatIsTooSmall) {
  const at::Tensor image = Moved("CenterCrop", "{size: 5}", 2, 6);
  EXPECT_EQ(Shape(image), (std::vector<int64_t>{5, 5, 2}));
  // Rows 1 and 2 hold the image; columns begin at round(0.5) = 0.
  EXPECT_EQ(Pixel(image, 2, 3), 13);
  EXPECT_EQ(Pixel(image, 0, 3), 0);
}

TEST(Pad, AddsToEachSideWhatIsSaid) {
  struct Case {
    const char* params;
    std::vector<int64_t> shape;
    // Where pixel (1, 1) of the image goes.
    int64_t y, x;
  };
  const Case cases[] = {
      {"{padding: 2, fill: 7}", {7, 8, 2}, 3, 3},
      {"{padding: [1, 2], fill: 7}", {7, 6, 2}, 3, 2},
      {"{padding: [1, 2, 3, 4], fill: 7}", {9, 8, 2}, 3, 2},
      {"{padding: 0}", {3, 4, 2}, 1, 1},
  };
  for (const Case& c : cases) {
    const at::Tensor image = Moved("Pad", c.params, 3, 4);
    EXPECT_EQ(Shape(image), c.shape) << c.params;
    EXPECT_EQ(Pixel(image, c.y, c.x), 11) << c.params;
    EXPECT_EQ(Pixel(image, 0, 0), c.y == 1 ? 0 : 7) << c.params;
  }
}

TEST(RandomFlip, MirrorsAnImage) {
  const at::Tensor across = Moved("RandomHorizontalFlip", "{p: 1}", 3, 4);
  EXPECT_EQ(Pixel(across, 0, 0), 3);
  EXPECT_EQ(Pixel(across, 2, 3), 20);
  const at::Tensor down = Moved("RandomVerticalFlip", "{p: 1}", 3, 4);
  EXPECT_EQ(Pixel(down, 0, 0), 20);
  EXPECT_EQ(Pixel(Moved("RandomHorizontalFlip", "{p: 0}", 3, 4), 0, 0), 0);
}

TEST(RandomFlip, MirrorsHalfOfTheImagesByDefault) {
  int flipped = 0;
  const Built built = Build("RandomHorizontalFlip", "");
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const at::Tensor image = Apply(*built.transform, Bytes(2, 2), seed).value();
    if (Pixel(image, 0, 0) == 1) ++flipped;
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(ToTensor, BringsBytesToTheUnitInterval) {
  const at::Tensor bytes =
      at::tensor({0, 51, 102, 153, 204, 255}, at::TensorOptions(at::kByte))
          .view({1, 2, 3});
  const at::Tensor image = Apply("ToTensor", "", bytes).value();
  EXPECT_EQ(Shape(image), (std::vector<int64_t>{3, 1, 2}));
  EXPECT_TRUE(at::allclose(image, at::tensor({0.0, 0.6, 0.2, 0.8, 0.4, 1.0})
                                      .view({3, 1, 2})
                                      .to(at::kFloat)));
}

TEST(ToTensor, RefusesWhatIsATensorAlready) {
  EXPECT_EQ(Apply("ToTensor", "", Floats(3, 4)).status(),
            absl::InvalidArgumentError("the image is float[2, 3, 4] already; "
                                       "list ToTensor once"));
}

TEST(Normalize, SubtractsAndDividesByChannel) {
  const at::Tensor image = at::full({2, 1, 2}, 3.0, at::kFloat);
  const at::Tensor each =
      Apply("Normalize", "{mean: [1, 2], std: [2, 0.5]}", image).value();
  EXPECT_TRUE(at::equal(each[0], at::full({1, 2}, 1.0, at::kFloat)));
  EXPECT_TRUE(at::equal(each[1], at::full({1, 2}, 2.0, at::kFloat)));
  const at::Tensor all =
      Apply("Normalize", "{mean: 1, std: [4]}", image).value();
  EXPECT_TRUE(at::equal(all, at::full({2, 1, 2}, 0.5, at::kFloat)));
  EXPECT_TRUE(at::equal(image, at::full({2, 1, 2}, 3.0, at::kFloat)))
      << "it changed an image that may be the data set's";
}

TEST(Normalize, RefusesImagesThatDoNotFit) {
  EXPECT_EQ(Apply("Normalize", "{mean: 1, std: 1}", Bytes(2, 2)).status(),
            absl::InvalidArgumentError("the image is byte[2, 2, 2]; list "
                                       "ToTensor before Normalize"));
  EXPECT_EQ(
      Apply("Normalize", "{mean: [1, 2, 3], std: 1}", Floats(2, 2)).status(),
      absl::InvalidArgumentError(
          "there are 3 numbers for an image of 2 channels"));
}

TEST(Resize, KeepsTheShapeWhereOneSideIsGiven) {
  struct Case {
    const char* params;
    int64_t height, width;
    std::vector<int64_t> shape;
  };
  const Case cases[] = {
      {"{size: 32}", 64, 96, {32, 48, 2}},
      {"{size: 32}", 96, 64, {48, 32, 2}},
      {"{size: 10}", 15, 20, {10, 13, 2}},
      {"{size: [10, 12]}", 15, 20, {10, 12, 2}},
      {"{size: 15}", 15, 20, {15, 20, 2}},
  };
  for (const Case& c : cases) {
    const at::Tensor bytes =
        Apply("Resize", c.params, Bytes(c.height, c.width)).value();
    EXPECT_EQ(Shape(bytes), c.shape) << c.params;
    const at::Tensor floats =
        Apply("Resize", c.params, Floats(c.height, c.width)).value();
    EXPECT_EQ(Shape(floats.permute({1, 2, 0})), c.shape) << c.params;
  }
}

TEST(Resize, AveragesWhatItShrinks) {
  // A checkerboard of 0 and 200 is even grey at half its size.
  const at::Tensor board = at::arange(4)
                               .view({4, 1, 1})
                               .add(at::arange(4).view({1, 4, 1}))
                               .remainder(2)
                               .mul(200)
                               .to(at::kByte);
  const at::Tensor half = Apply("Resize", "{size: 2}", board).value();
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(Pixel(half, i / 2, i % 2), 100, 15);
  }
  const at::Tensor nearest =
      Apply("Resize", "{size: 2, interpolation: nearest}", board).value();
  EXPECT_EQ(Pixel(nearest, 0, 0), 0);
  EXPECT_EQ(
      Shape(
          Apply("Resize", "{size: 8, interpolation: bicubic}", board).value()),
      (std::vector<int64_t>{8, 8, 1}));
}

TEST(Transforms, RefuseWhatIsNoImage) {
  const std::pair<const char*, const char*> transforms[] = {
      {"CenterCrop", "{size: 2}"},  {"Normalize", "{mean: 0, std: 1}"},
      {"Pad", "{padding: 1}"},      {"RandomCrop", "{size: 2}"},
      {"RandomHorizontalFlip", ""}, {"RandomVerticalFlip", ""},
      {"Resize", "{size: 2}"},      {"ToTensor", ""},
  };
  for (const auto& [name, params] : transforms) {
    EXPECT_EQ(Apply(name, params, at::zeros({4, 4})).status(),
              absl::InvalidArgumentError(
                  "expected an image, byte[height, width, channels] or "
                  "float[channels, height, width], but found float[4, 4]"))
        << name;
    EXPECT_FALSE(Apply(name, params, at::Tensor()).ok()) << name;
  }
}

TEST(Transforms, ReportAllThatIsWrongWithTheirParameters) {
  struct Case {
    const char* name;
    const char* params;
    const char* problems;
  };
  const Case cases[] = {
      {"RandomCrop", "{sice: 8, padding: [1, 2, 3], fill: x}",
       R"(error: transform RandomCrop needs a value for "size"
  where:  r.yaml:1:1
error: "padding" has 3 numbers, expected 1, 2 or 4
  where:  r.yaml:1:20
error: "fill" of transform RandomCrop is "x"
  detail: expected a number, found text "x"
  where:  r.yaml:1:37
error: unknown parameter "sice" of transform RandomCrop
  where:  r.yaml:1:2
  hint:   did you mean "size"?
)"},
      {"RandomCrop", "{size: 0, padding: -1, padding_mode: reflect}",
       R"(error: "size" is [0], expected one or two numbers of pixels
  where:  r.yaml:1:8
error: "padding" has a negative number of pixels
  where:  r.yaml:1:20
error: "padding_mode" of transform RandomCrop is "reflect"
  detail: expected one of constant, found text "reflect"
  where:  r.yaml:1:38
)"},
      {"RandomHorizontalFlip", "{p: 1.5}",
       R"(error: "p" of transform RandomHorizontalFlip is 1.5
  detail: expected a number from 0.0 to 1.0, found number 1.5
  where:  r.yaml:1:5
)"},
      {"Normalize", "{mean: 0.5, std: [1, 0]}",
       R"(error: "std" of transform Normalize has a zero
  where:  r.yaml:1:18
  hint:   an image is divided by it
)"},
      {"Resize", "{size: 8, interpolation: bilinaer, antialias: false}",
       R"(error: transform Resize always antialiases
  where:  r.yaml:1:47
  hint:   leave the key out
error: "interpolation" of transform Resize is "bilinaer"
  detail: expected one of nearest, box, bilinear, hamming, bicubic, lanczos, found text "bilinaer"
  where:  r.yaml:1:26
  hint:   did you mean "bilinear"?
)"},
      {"ToTensor", "{scale: 1}",
       R"(error: unknown parameter "scale" of transform ToTensor
  where:  r.yaml:1:2
  hint:   transform ToTensor has no parameters
)"},
  };
  for (const Case& c : cases) {
    const Built built = Build(c.name, c.params);
    EXPECT_EQ(built.transform, nullptr);
    EXPECT_EQ(FormatProblems(built.problems), c.problems);
  }
}

TEST(Transforms, TakeParametersBetweenEpochs) {
  struct Case {
    const char* name;
    const char* params;
    const char* parameter;
    recipe::Node value;
    std::vector<int64_t> shape;
  };
  const Case cases[] = {
      {"RandomCrop", "{size: 2}", "size", recipe::Node::Int(3), {3, 3, 2}},
      {"RandomCrop",
       "{size: 6, padding: 2}",
       "padding",
       recipe::Node::Int(1),
       {6, 6, 2}},
      {"CenterCrop", "{size: 2}", "size", recipe::Node::Int(3), {3, 3, 2}},
      {"Pad", "{padding: 2}", "padding", recipe::Node::Int(1), {6, 6, 2}},
      {"Resize", "{size: 2}", "size", recipe::Node::Int(8), {8, 8, 2}},
      {"RandomVerticalFlip", "", "p", recipe::Node::Float(1), {4, 4, 2}},
  };
  for (const Case& c : cases) {
    const Built built = Build(c.name, c.params);
    const absl::Status set = built.transform->Set(c.parameter, c.value);
    EXPECT_TRUE(set.ok()) << set;
    EXPECT_EQ(Shape(Apply(*built.transform, Bytes(4, 4)).value()), c.shape)
        << c.name;
    EXPECT_FALSE(
        built.transform->Set(c.parameter, recipe::Node::String("x")).ok());
    EXPECT_EQ(Shape(Apply(*built.transform, Bytes(4, 4)).value()), c.shape)
        << c.name << " took a value that it refused";
    EXPECT_EQ(built.transform->Set("colour", c.value).code(),
              absl::StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace slipway::vision_classification
