#include "trainer/data/shard.h"

#include <algorithm>

namespace slipway::data {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t Shard::share() const {
  return DivideUp(shape_.samples, shape_.world_size);
}

int64_t Shard::batches() const {
  return shape_.drop_last ? share() / shape_.batch_size
                          : DivideUp(share(), shape_.batch_size);
}

std::vector<int64_t> Shard::Places(int64_t batch) const {
  const int64_t begin = batch * shape_.batch_size;
  const int64_t end = std::min(begin + shape_.batch_size, share());
  std::vector<int64_t> places;
  places.reserve(end - begin);
  for (int64_t i = begin; i < end; ++i) {
    places.push_back(shape_.rank + i * shape_.world_size);
  }
  return places;
}

int64_t Shard::valid(int64_t batch) const {
  const std::vector<int64_t> places = Places(batch);
  return std::lower_bound(places.begin(), places.end(), shape_.samples) -
         places.begin();
}

}  // namespace slipway::data
