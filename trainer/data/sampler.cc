#include <memory>
#include <numeric>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/rng.h"

namespace slipway::data {
namespace {

class Sequential : public Sampler {
 public:
  explicit Sequential(int64_t size) : size_(size) {}

  int64_t size() const override { return size_; }

  std::vector<int64_t> Order(int64_t) const override {
    std::vector<int64_t> order(size_);
    std::iota(order.begin(), order.end(), int64_t{0});
    return order;
  }

 private:
  const int64_t size_;
};

class Shuffled : public Sampler {
 public:
  Shuffled(int64_t size, int64_t samples, uint64_t seed)
      : size_(size), samples_(size == 0 ? 0 : samples), seed_(seed) {}

  int64_t size() const override { return samples_; }

  std::vector<int64_t> Order(int64_t epoch) const override {
    std::vector<int64_t> order;
    for (int64_t pass = 0; pass * size_ < samples_; ++pass) {
      Rng rng(seed_, epoch, pass, Rng::Stream::kSampler);
      const std::vector<int64_t> indices = rng.Permutation(size_);
      order.insert(order.end(), indices.begin(), indices.end());
    }
    order.resize(samples_);
    return order;
  }

 private:
  const int64_t size_;
  const int64_t samples_;
  const uint64_t seed_;
};

}  // namespace

std::unique_ptr<Sampler> SequentialSampler(int64_t size) {
  return std::make_unique<Sequential>(size);
}

std::unique_ptr<Sampler> ShuffleSampler(int64_t size, uint64_t seed) {
  return std::make_unique<Shuffled>(size, size, seed);
}

std::unique_ptr<Sampler> RepeatSampler(int64_t size, int64_t samples,
                                       uint64_t seed) {
  return std::make_unique<Shuffled>(size, samples, seed);
}

}  // namespace slipway::data
