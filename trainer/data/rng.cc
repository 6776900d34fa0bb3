#include "trainer/data/rng.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace slipway::data {
namespace {

constexpr int kRounds = 10;
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
// The golden ratio and the square root of three, as in Weyl sequences.
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;

uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Rng::Rng(uint64_t seed, int64_t epoch, int64_t index, Stream stream)
    : key_{Low(seed), High(seed)},
      counter_{
          0, Low(index), Low(epoch),
          (static_cast<uint32_t>(stream) << 24) | (High(index) & 0xFFFFFF)} {}

void Rng::Refill() {
  block_ = Philox4x32(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

uint32_t Rng::Next() {
  if (used_ == 4) Refill();
  return block_[used_++];
}

double Rng::Uniform() {
  const uint64_t high = Next();
  const uint64_t bits = (high << 32 | Next()) >> 11;
  return static_cast<double>(bits) * 0x1.0p-53;
}

double Rng::Uniform(double low, double high) {
  return low + (high - low) * Uniform();
}

int64_t Rng::Below(int64_t n) {
  // The lowest 2^64 mod n words are too many for equal shares.
  const uint64_t range = static_cast<uint64_t>(n);
  const uint64_t surplus = -range % range;
  while (true) {
    const uint64_t high = Next();
    const uint64_t word = high << 32 | Next();
    if (word >= surplus) return static_cast<int64_t>(word % range);
  }
}

double Rng::Normal() {
  // 1 - u lies in (0, 1], where the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
double Rng::Gamma(double shape) {
  if (shape < 1) {
    const double boost = std::pow(1.0 - Uniform(), 1.0 / shape);
    return Gamma(shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = Normal();
    const double root = 1.0 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1.0 - Uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Rng::Beta(double a, double b) {
  const double x = Gamma(a);
  const double sum = x + Gamma(b);
  // Tiny parameters underflow, and leave only the ends of the interval.
  if (sum == 0) return Uniform() * (a + b) < a ? 1 : 0;
  return x / sum;
}

std::vector<int64_t> Rng::Permutation(int64_t n) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t last = n - 1; last > 0; --last) {
    std::swap(order[last], order[Below(last + 1)]);
  }
  return order;
}

}  // namespace slipway::data
