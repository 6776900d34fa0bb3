#include "plugins/vision_classification/transforms/enhance.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

constexpr char kValues[] =
    "plugins/vision_classification/transforms/testdata/enhance_pillow.txt";

// The image of which Pillow's values are.
at::Tensor Colours() {
  at::Tensor image = at::empty({23, 31, 3}, at::TensorOptions(at::kByte));
  uint8_t* bytes = image.mutable_data_ptr<uint8_t>();
  uint32_t state = 1;
  for (int64_t i = 0; i < image.numel(); ++i) {
    state = state * 1664525 + 1013904223;
    bytes[i] = static_cast<uint8_t>(60 + (state >> 24) / 2);
  }
  return image;
}

// FNV-1a.
std::string HashOf(const at::Tensor& image) {
  uint64_t hash = 0xcbf29ce484222325;
  const uint8_t* bytes = image.const_data_ptr<uint8_t>();
  for (int64_t i = 0; i < image.numel(); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

using Change = std::function<void(at::Tensor&, double)>;

std::map<std::string, Change> Changes() {
  constexpr std::array<uint8_t, 3> kFill = {124, 116, 104};
  const auto affine = [=](std::array<double, 6> matrix, size_t place) {
    return [=](at::Tensor& image, double value) mutable {
      matrix[place] = value;
      Affine(image, matrix, kFill);
    };
  };
  return {
      {"brightness", Brightness},
      {"contrast", Contrast},
      {"color", Color},
      {"sharpness", Sharpness},
      {"hue", Hue},
      {"autocontrast", [](at::Tensor& i, double) { AutoContrast(i); }},
      {"equalize", [](at::Tensor& i, double) { Equalize(i); }},
      {"invert", [](at::Tensor& i, double) { Invert(i); }},
      {"solarize", Solarize},
      {"posterize", [](at::Tensor& i, double bits) { Posterize(i, bits); }},
      {"solarize_add", [](at::Tensor& i, double n) { SolarizeAdd(i, n); }},
      {"shear_x", affine({1, 0, 0, 0, 1, 0}, 1)},
      {"shear_y", affine({1, 0, 0, 0, 1, 0}, 3)},
      {"translate_x", affine({1, 0, 0, 0, 1, 0}, 2)},
      {"translate_y", affine({1, 0, 0, 0, 1, 0}, 5)},
      {"rotate", [=](at::Tensor& i, double d) { Rotate(i, d, kFill); }},
  };
}

TEST(Enhance, GivesTheBytesThatPillowGives) {
  const std::map<std::string, Change> changes = Changes();
  std::ifstream lines(kValues);
  int cases = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string hash;
    double value = 0;
    words >> name >> value >> hash;
    ASSERT_TRUE(words && changes.count(name)) << line;
    at::Tensor image = Colours();
    changes.at(name)(image, value);
    EXPECT_EQ(HashOf(image), hash) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 31);
}

TEST(Enhance, LeavesSmallAndPlainImagesWhole) {
  for (const auto& [height, width] : {std::pair{1, 1}, {2, 1}, {1, 5}}) {
    for (const auto& [name, change] : Changes()) {
      at::Tensor image =
          at::empty({height, width, 3}, at::TensorOptions(at::kByte));
      image.fill_(77);
      change(image, name == "posterize" ? 2 : 0.3);
      EXPECT_EQ(image.numel(), 3 * height * width) << name;
    }
  }
}

}  // namespace
}  // namespace slipway::vision_classification
