#include "trainer/data/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace slipway::data {
namespace {

struct KnownAnswer {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> block;
};

// The vectors that the paper's authors publish for philox4x32-10: zeros, ones,
// and digits of pi.
const KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::vector<uint32_t> Words(Rng rng, int count) {
  std::vector<uint32_t> words;
  for (int i = 0; i < count; ++i) words.push_back(rng.Next());
  return words;
}

struct Moments {
  double mean;
  double variance;
};

Moments MomentsOf(const std::function<double()>& draw) {
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(Philox, GivesThePublishedBlocks) {
  for (const KnownAnswer& known : kKnownAnswers) {
    EXPECT_EQ(Philox4x32(known.counter, known.key), known.block);
  }
}

TEST(Rng, IsPhiloxUnderAKeyOfItsOwn) {
  const std::array<uint32_t, 4> first = Philox4x32({0, 7, 3, 1 << 24}, {42, 0});
  const std::array<uint32_t, 4> second =
      Philox4x32({1, 7, 3, 1 << 24}, {42, 0});
  std::vector<uint32_t> expected(first.begin(), first.end());
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(Words(Rng(42, 3, 7, Rng::Stream::kBatch), 8), expected);
}

TEST(Rng, GivesOtherWordsForEachPartOfTheKey) {
  const std::vector<std::vector<uint32_t>> streams = {
      Words(Rng(1, 0, 0), 4),
      Words(Rng(2, 0, 0), 4),
      Words(Rng(uint64_t{1} << 32, 0, 0), 4),
      Words(Rng(1, 1, 0), 4),
      Words(Rng(1, 0, 1), 4),
      Words(Rng(1, 0, int64_t{1} << 32), 4),
      Words(Rng(1, 0, 0, Rng::Stream::kBatch), 4),
      Words(Rng(1, 0, 0, Rng::Stream::kSampler), 4),
  };
  for (size_t a = 0; a < streams.size(); ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(streams[a], streams[b]);
  }
}

TEST(Rng, UniformFillsTheUnitInterval) {
  Rng rng(1, 2, 3);
  double low = 1;
  double high = 0;
  const Moments moments = MomentsOf([&] {
    const double x = rng.Uniform();
    low = std::min(low, x);
    high = std::max(high, x);
    return x;
  });
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_NEAR(moments.mean, 0.5, 0.005);
  EXPECT_NEAR(moments.variance, 1.0 / 12, 0.002);
  EXPECT_NEAR(rng.Uniform(5, 5), 5, 0);
}

TEST(Rng, BelowGivesEachValueItsShare) {
  Rng rng(4, 0, 0);
  constexpr int kValues = 7;
  constexpr int kDraws = 70000;
  std::array<int, kValues> counts = {};
  for (int i = 0; i < kDraws; ++i) ++counts.at(rng.Below(kValues));
  double chi_squared = 0;
  for (int count : counts) {
    chi_squared += std::pow(count - 10000.0, 2) / 10000.0;
  }
  // The 99.9th percentile for six degrees of freedom.
  EXPECT_LT(chi_squared, 22.5);
  EXPECT_EQ(rng.Below(1), 0);
}

TEST(Rng, BelowReachesBeyondThirtyTwoBits) {
  Rng rng(4, 0, 0);
  const int64_t n = int64_t{1} << 62;
  int64_t largest = 0;
  for (int i = 0; i < 100; ++i) largest = std::max(largest, rng.Below(n));
  EXPECT_GT(largest, n / 2);
  EXPECT_LT(largest, n);
}

TEST(Rng, DrawsFromTheDistributionsThatItNames) {
  struct Case {
    const char* name;
    std::function<double(Rng&)> draw;
    Moments expected;
  };
  const Case cases[] = {
      {"normal", [](Rng& rng) { return rng.Normal(); }, {0, 1}},
      {"gamma 4", [](Rng& rng) { return rng.Gamma(4); }, {4, 4}},
      {"gamma 0.5", [](Rng& rng) { return rng.Gamma(0.5); }, {0.5, 0.5}},
      {"beta 2 3", [](Rng& rng) { return rng.Beta(2, 3); }, {0.4, 0.04}},
      // Of a mixup: mean a / (a + b), variance ab / ((a + b)^2 (a + b + 1)).
      {"beta 0.2",
       [](Rng& rng) { return rng.Beta(0.2, 0.2); },
       {0.5, 0.25 / 1.4}},
      {"beta 1e-4",
       [](Rng& rng) { return rng.Beta(1e-4, 3e-4); },
       {0.25, 0.1875}},
  };
  for (const Case& c : cases) {
    Rng rng(11, 0, 0);
    const Moments moments = MomentsOf([&] { return c.draw(rng); });
    EXPECT_NEAR(moments.mean, c.expected.mean, 0.03) << c.name;
    EXPECT_NEAR(moments.variance, c.expected.variance,
                0.03 * std::max(1.0, c.expected.variance))
        << c.name;
  }
}

TEST(Rng, PermutesAllPlacesWithEqualChance) {
  // Where 0 ends up, over many permutations of five.
  std::array<int, 5> counts = {};
  for (int64_t i = 0; i < 10000; ++i) {
    const std::vector<int64_t> order = Rng(1, 0, i).Permutation(5);
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::vector<int64_t>{0, 1, 2, 3, 4}));
    ++counts.at(std::find(order.begin(), order.end(), 0) - order.begin());
  }
  for (int count : counts) EXPECT_NEAR(count, 2000, 150);
}

TEST(Rng, PermutesNothingWhenThereIsNothing) {
  EXPECT_TRUE(Rng(1, 0, 0).Permutation(0).empty());
  EXPECT_EQ(Rng(1, 0, 0).Permutation(1), std::vector<int64_t>{0});
}

}  // namespace
}  // namespace slipway::data
