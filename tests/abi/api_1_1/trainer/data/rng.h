// A counter-based random generator: the same key gives the same numbers,
// whichever thread draws them and whatever was drawn before.
//
//   Rng rng(seed, epoch, index);          // one sample's own stream
//   const bool flip = rng.Uniform() < 0.5;
//   const int64_t x = rng.Below(9);       // 0..8
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A value type; each thread uses its own. The numbers are part of the
// contract: a recipe with a seed gives the same training from one release to
// the next.
#ifndef SLIPWAY_TRAINER_DATA_RNG_H_
#define SLIPWAY_TRAINER_DATA_RNG_H_

#include <array>
#include <cstdint>
#include <vector>

namespace slipway::data {

// Ten rounds of Philox: the block of random words number `counter` under `key`.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

class Rng {
 public:
  // The stream of sample `index` (or batch `index`) of `epoch`. `stream` tells
  // apart users of one key: samples, collates, samplers, ... Distinct for
  // every epoch below 2^32 and index below 2^56; 2^34 words long.
  enum class Stream : uint32_t { kSample = 0, kBatch = 1, kSampler = 2 };
  Rng(uint64_t seed, int64_t epoch, int64_t index,
      Stream stream = Stream::kSample);

  uint32_t Next();
  // In [0, 1), with 53 random bits.
  double Uniform();
  double Uniform(double low, double high);
  // In [0, n), without bias; n > 0.
  int64_t Below(int64_t n);
  // Standard normal (Box-Muller).
  double Normal();
  // Beta(a, b) and Gamma(shape, 1), both parameters > 0 (mixup, cutmix).
  double Beta(double a, double b);
  double Gamma(double shape);
  // A permutation of 0..n-1 (Fisher-Yates).
  std::vector<int64_t> Permutation(int64_t n);

 private:
  void Refill();

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_ = {};
  int used_ = 4;
};

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_RNG_H_
