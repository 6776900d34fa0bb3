#include "plugins/vision_classification/images/resample.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

constexpr char kValues[] =
    "plugins/vision_classification/images/testdata/resample_pillow.txt";

// The image of which Pillow's values are: 31x23 of some colours.
Raster Colours() {
  Raster raster({.height = 23, .width = 31});
  uint32_t state = 1;
  for (int64_t i = 0; i < 3 * 23 * 31; ++i) {
    state = state * 1664525 + 1013904223;
    raster.pixels[i] = static_cast<uint8_t>(state >> 24);
  }
  return raster;
}

// FNV-1a.
std::string HashOf(const Raster& raster) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t i = 0; i < 3 * raster.extent.height * raster.extent.width; ++i) {
    hash = (hash ^ raster.pixels[i]) * 0x100000001b3;
  }
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

Filter FilterOf(const std::string& name) {
  if (name == "nearest") return Filter::kNearest;
  if (name == "box") return Filter::kBox;
  if (name == "bilinear") return Filter::kBilinear;
  if (name == "hamming") return Filter::kHamming;
  return name == "bicubic" ? Filter::kBicubic : Filter::kLanczos;
}

TEST(Resample, GivesTheBytesThatPillowGives) {
  const Raster image = Colours();
  std::ifstream lines(kValues);
  int cases = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    std::istringstream words(line);
    std::string filter;
    std::string hash;
    Extent size;
    Box box;
    words >> filter >> size.width >> size.height >> box.left >> box.top >>
        box.right >> box.bottom >> hash;
    ASSERT_TRUE(words) << line;
    Raster result(size);
    Resample(ViewOf(image), box, size, FilterOf(filter), result.pixels.get());
    EXPECT_EQ(HashOf(result), hash) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 54);
}

TEST(Resample, TreatsEachChannelAlike) {
  const Raster image = Colours();
  const Extent size = {.height = 10, .width = 40};
  const Raster colours = Resample(image, size, Filter::kBicubic);
  for (int64_t channels : {1, 2, 4}) {
    std::vector<uint8_t> some(23 * 31 * channels);
    for (size_t i = 0; i < some.size(); ++i) {
      some[i] = image.pixels[3 * (i / channels) + i % channels % 3];
    }
    std::vector<uint8_t> result(10 * 40 * channels);
    Resample({some.data(), image.extent, channels, 31 * channels},
             {0, 0, 23, 31}, size, Filter::kBicubic, result.data());
    for (size_t i = 0; i < result.size(); ++i) {
      ASSERT_EQ(result[i],
                colours.pixels[3 * (i / channels) + i % channels % 3]);
    }
  }
}

TEST(Resample, OfTheSameSizeIsACopy) {
  const Raster image = Colours();
  EXPECT_EQ(HashOf(Resample(image, image.extent, Filter::kLanczos)),
            HashOf(image));
}

}  // namespace
}  // namespace slipway::vision_classification
