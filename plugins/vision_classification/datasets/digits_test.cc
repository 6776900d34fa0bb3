#include "plugins/vision_classification/datasets/digits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "gtest/gtest.h"
#include "trainer/data/rng.h"

namespace slipway::vision_classification {
namespace {

constexpr char kFile[] = "plugins/vision_classification/datasets/digits.txt";

// The lines of digits.txt, as "00 16 ... 08" never was.
std::vector<std::string> Lines() {
  std::ifstream file(kFile);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int64_t DigitOf(const data::Sample& sample) {
  return sample.target.tensor().item<int64_t>();
}

TEST(Digits, SplitsTheImagesWithoutLosingOne) {
  const Digits training(Digits::Split::kTraining);
  const Digits validation(Digits::Split::kValidation);
  EXPECT_EQ(training.size(), 1437);
  EXPECT_EQ(validation.size(), 360);
  std::set<int64_t> lines;
  for (const Digits* digits : {&training, &validation}) {
    for (int64_t i = 0; i < digits->size(); ++i) lines.insert(digits->Line(i));
  }
  EXPECT_EQ(lines.size(), 1797u);
  EXPECT_EQ(*lines.rbegin(), 1796);
}

TEST(Digits, SplitsBySeedZero) {
  std::vector<int64_t> order =
      data::Rng(0, 0, 0, data::Rng::Stream::kSampler).Permutation(1797);
  std::sort(order.begin(), order.begin() + 360);
  const Digits validation(Digits::Split::kValidation);
  for (int64_t i = 0; i < validation.size(); ++i) {
    EXPECT_EQ(validation.Line(i), order[i]);
  }
}

TEST(Digits, AreTheImagesOfTheFile) {
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 1797u);
  const std::string greys = "0123456789abcdefg";
  for (auto split : {Digits::Split::kTraining, Digits::Split::kValidation}) {
    const Digits digits(split);
    for (int64_t i = 0; i < digits.size(); ++i) {
      const std::string& line = lines[digits.Line(i)];
      const data::Sample sample = digits.Get(i).value();
      ASSERT_EQ(DigitOf(sample), line.back() - '0');
      const uint8_t* pixels = sample.image.const_data_ptr<uint8_t>();
      for (size_t p = 0; p < 64; ++p) {
        // 255 / 16 a step, to the nearest.
        const double exact = greys.find(line[p]) * 255.0 / 16;
        ASSERT_NEAR(pixels[p], exact, 0.5 + 1e-9) << "image " << i;
      }
    }
  }
}

TEST(Digits, ShowAZero) {
  // The first image of the file, in sixteenths.
  const std::array<int, 64> zero = {
      0, 0, 5,  13, 9,  1,  0, 0, 0, 0, 13, 15, 10, 15, 5, 0,
      0, 3, 15, 2,  0,  11, 8, 0, 0, 4, 12, 0,  0,  8,  8, 0,
      0, 5, 8,  0,  0,  9,  8, 0, 0, 4, 11, 0,  1,  12, 7, 0,
      0, 2, 14, 5,  10, 12, 0, 0, 0, 0, 6,  13, 10, 0,  0, 0};
  const Digits training(Digits::Split::kTraining);
  ASSERT_EQ(training.Line(0), 0);
  const data::Sample sample = training.Get(0).value();
  EXPECT_EQ(DigitOf(sample), 0);
  EXPECT_EQ(sample.image.sizes(), at::IntArrayRef({8, 8, 1}));
  for (size_t p = 0; p < zero.size(); ++p) {
    EXPECT_NEAR(sample.image.const_data_ptr<uint8_t>()[p] / 255.0,
                zero[p] / 16.0, 1.0 / 255);
  }
}

TEST(Digits, HaveAllClassesInBothSplits) {
  for (auto split : {Digits::Split::kTraining, Digits::Split::kValidation}) {
    const Digits digits(split);
    std::array<int, 10> counts = {};
    for (int64_t i = 0; i < digits.size(); ++i) {
      ++counts.at(DigitOf(digits.Get(i).value()));
    }
    for (int count : counts) EXPECT_GT(count, digits.size() / 12);
  }
  EXPECT_EQ(Digits(Digits::Split::kTraining).ClassNames().at(7), "7");
}

TEST(Digits, RepeatTheirGreysForModelsThatTakeColours) {
  const data::Sample grey = Digits(Digits::Split::kTraining).Get(5).value();
  const data::Sample colour =
      Digits(Digits::Split::kTraining, 3).Get(5).value();
  EXPECT_TRUE(at::equal(colour.image, grey.image.expand({8, 8, 3})));
}

}  // namespace
}  // namespace slipway::vision_classification
