#include "plugins/vision_classification/images/decode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

using testing::HasSubstr;

constexpr char kFolder[] =
    "plugins/vision_classification/images/testdata/golden/";

std::string ReadFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Pixel(const Raster& raster, int64_t x, int64_t y) {
  const uint8_t* p = raster.row(y) + 3 * x;
  return absl::StrCat(p[0], ",", p[1], ",", p[2]);
}

// FNV-1a.
uint64_t HashOf(const Raster& raster) {
  uint64_t hash = 0xcbf29ce484222325;
  const uint8_t* end = raster.row(raster.extent.height);
  for (const uint8_t* p = raster.row(0); p < end; ++p) {
    hash = (hash ^ *p) * 0x100000001b3;
  }
  return hash;
}

// A line of pillow.txt.
std::string Describe(const std::string& name, const Raster& raster) {
  return absl::StrCat(name, " ", raster.extent.width, " ", raster.extent.height,
                      " ", absl::StrFormat("%016x", HashOf(raster)), " ",
                      Pixel(raster, 0, 0), " ", Pixel(raster, 22, 18), " ",
                      Pixel(raster, 44, 36));
}

TEST(DecodeImage, GivesTheBytesThatPillowGives) {
  std::ifstream lines(absl::StrCat(kFolder, "pillow.txt"));
  int files = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    const std::string name = line.substr(0, line.find(' '));
    const absl::StatusOr<Raster> image = DecodeImage(ReadFile(name));
    ASSERT_TRUE(image.ok()) << name << ": " << image.status();
    EXPECT_EQ(Describe(name, *image), line);
    ++files;
  }
  EXPECT_EQ(files, 24);
}

TEST(ImageExtent, IsThatOfTheDecodedImage) {
  for (const char* name : {"progressive.jpg", "interlaced.png", "lossy.webp"}) {
    const absl::StatusOr<Extent> extent = ImageExtent(ReadFile(name));
    ASSERT_TRUE(extent.ok()) << extent.status();
    EXPECT_EQ(extent->height, 37) << name;
    EXPECT_EQ(extent->width, 45) << name;
  }
}

// Mean and largest difference of two images of one size.
std::pair<double, int> Difference(const Raster& a, const Raster& b) {
  EXPECT_EQ(a.extent.height, b.extent.height);
  EXPECT_EQ(a.extent.width, b.extent.width);
  const int64_t bytes = 3 * a.extent.height * a.extent.width;
  double sum = 0;
  int most = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    const int difference = std::abs(a.pixels[i] - b.pixels[i]);
    sum += difference;
    most = std::max(most, difference);
  }
  return {sum / bytes, most};
}

// Means of squares of pixels.
Raster Shrunk(const Raster& image, int64_t by) {
  Raster small({image.extent.height / by, image.extent.width / by});
  for (int64_t y = 0; y < small.extent.height; ++y) {
    for (int64_t i = 0; i < 3 * small.extent.width; ++i) {
      double sum = 0;
      for (int64_t part = 0; part < by * by; ++part) {
        sum +=
            image.row(y * by + part / by)[(i / 3 * by + part % by) * 3 + i % 3];
      }
      small.row(y)[i] = static_cast<uint8_t>(std::lround(sum / (by * by)));
    }
  }
  return small;
}

Raster CutOut(const Raster& image, const Area& area) {
  Raster cut({area.height, area.width});
  for (int64_t y = 0; y < area.height; ++y) {
    const uint8_t* from = image.row(area.top + y) + 3 * area.left;
    std::copy(from, from + 3 * area.width, cut.row(y));
  }
  return cut;
}

TEST(DecodeImage, ShrinksAJpegWhileItDecodes) {
  for (const char* name : {"full_colour.jpg", "grey.jpg", "progressive.jpg"}) {
    const std::string bytes = ReadFile(name);
    const Raster whole = DecodeImage(bytes).value();
    for (const int64_t by : {2, 4, 8}) {
      const Raster shrunk = DecodeImage(bytes, {.shrink = by}).value();
      // Rounded up.
      EXPECT_EQ(shrunk.extent.height, (37 + by - 1) / by) << name;
      EXPECT_EQ(shrunk.extent.width, (45 + by - 1) / by) << name;
      const Raster expected = Shrunk(whole, by);
      const Raster inside =
          CutOut(shrunk, {0, 0, expected.extent.height, expected.extent.width});
      EXPECT_LT(Difference(inside, expected).first, 6) << name << " " << by;
    }
  }
}

TEST(DecodeImage, DecodesOnlyTheAreaThatIsAskedFor) {
  const Area areas[] = {{0, 0, 37, 45},  {3, 5, 20, 11},  {36, 44, 1, 1},
                        {17, 16, 16, 8}, {0, 30, 37, 15}, {30, 0, 7, 45}};
  for (const char* name : {"full_colour.jpg", "baseline.jpg", "grey.jpg",
                           "progressive.jpg", "cmyk.jpg"}) {
    const std::string bytes = ReadFile(name);
    const Raster whole = DecodeImage(bytes).value();
    for (const Area& area : areas) {
      const absl::StatusOr<Raster> part = DecodeImage(bytes, {.area = area});
      ASSERT_TRUE(part.ok()) << name << ": " << part.status();
      const auto [mean, most] = Difference(*part, CutOut(whole, area));
      EXPECT_LE(mean, 1.5) << name << " " << area.top << "," << area.left;
      EXPECT_LE(most, 40) << name << " " << area.top << "," << area.left;
    }
  }
}

TEST(DecodeImage, RefusesAnAreaOutsideTheImage) {
  for (const Area& area : {Area{0, 0, 38, 45}, Area{-1, 0, 2, 2},
                           Area{0, 40, 2, 6}, Area{0, 0, 0, 1}}) {
    EXPECT_EQ(DecodeImage(ReadFile("grey.jpg"), {.area = area}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(DecodeImage, RefusesImagesThatAreTooLarge) {
  for (const char* name : {"baseline.jpg", "rgb.png", "lossy.webp"}) {
    EXPECT_EQ(DecodeImage(ReadFile(name), {.max_pixels = 45 * 37 - 1}).status(),
              absl::ResourceExhaustedError(
                  "the image has 45x37 pixels, expected at most 1664 in all"));
    EXPECT_TRUE(DecodeImage(ReadFile(name), {.max_pixels = 45 * 37}).ok());
  }
}

TEST(DecodeImage, RefusesAHeaderOfMorePixelsThanMemoryHas) {
  std::string jpeg = ReadFile("baseline.jpg");
  // SOF0: marker, length, precision, height, width.
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(DecodeImage(jpeg).status(),
            absl::ResourceExhaustedError("the image has 65500x65500 pixels, "
                                         "expected at most 178956970 in all"));
}

TEST(DecodeImage, SaysThatAFileEndsTooEarly) {
  for (const char* name :
       {"baseline.jpg", "progressive.jpg", "rgb.png", "interlaced.png",
        "lossy.webp", "lossless.webp", "cmyk.jpg"}) {
    const std::string bytes = ReadFile(name);
    for (const double share : {0.98, 0.75, 0.5, 0.1}) {
      const size_t size = static_cast<size_t>(bytes.size() * share);
      const absl::Status status =
          DecodeImage(std::string_view(bytes).substr(0, size)).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
          << name << " " << share << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("ends before its image does"))
          << name << " " << share;
    }
  }
}

TEST(DecodeImage, SaysThatAFileIsDamaged) {
  std::string png = ReadFile("rgb.png");
  png[png.size() / 2] ^= 0x55;
  EXPECT_THAT(DecodeImage(png).status().ToString(),
              HasSubstr("the PNG is damaged: "));
  std::string jpeg = ReadFile("baseline.jpg");
  // No table of that number.
  jpeg[jpeg.find("\xff\xc0") + 12] = 3;
  EXPECT_THAT(DecodeImage(jpeg).status().ToString(),
              HasSubstr("the JPEG is damaged: "));
}

TEST(DecodeImage, SaysWhatIsNoImage) {
  EXPECT_EQ(DecodeImage("").status(), absl::DataLossError("the file is empty"));
  EXPECT_EQ(DecodeImage("<html>\n not found").status(),
            absl::DataLossError("expected a JPEG, a PNG or a WebP, found a "
                                "file that begins with \"<html>\\n not \""));
  EXPECT_EQ(ImageExtent("").status(), absl::DataLossError("the file is empty"));
  EXPECT_FALSE(DecodeImage("\xff\xd8\xff").ok());
  EXPECT_FALSE(DecodeImage("\x89PNG\r\n\x1a\n").ok());
  EXPECT_FALSE(DecodeImage(std::string_view("RIFF\0\0\0\0WEBP", 12)).ok());
}

TEST(DecodeImage, RefusesAnimations) {
  EXPECT_EQ(DecodeImage(ReadFile("animation.webp")).status(),
            absl::UnimplementedError("the WebP is an animation"));
}

// Every byte damaged by itself: an image or an error, and no crash.
TEST(DecodeImage, SurvivesAnyDamagedByte) {
  for (const char* name : {"grey.jpg", "palette_16.png", "lossless.webp"}) {
    std::string bytes = ReadFile(name);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const char kept = bytes[i];
      bytes[i] = static_cast<char>(~kept);
      const absl::StatusOr<Raster> image =
          DecodeImage(bytes, {.max_pixels = 1 << 20});
      EXPECT_TRUE(image.ok() || !image.status().message().empty());
      bytes[i] = kept;
    }
  }
}

}  // namespace
}  // namespace slipway::vision_classification
