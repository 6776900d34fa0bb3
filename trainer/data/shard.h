// Which places of an epoch's order the batches of one rank hold.
//
//   Shard shard({.samples = 10, .batch_size = 2, .rank = 1, .world_size = 3});
//   shard.batches();       // 2: the shares are 4 samples each
//   shard.Places(0);       // {1, 4}
//   shard.Places(1);       // {7, 10}: place 10 is place 0, shown again
//   shard.valid(1);        // 1: of those, places below 10
//
// Batch b of all ranks together holds the places from b * batch_size *
// world_size on, so that a training that goes on with another number of ranks,
// and the same batch over all of them, sees the same samples. Pure arithmetic.
#ifndef SLIPWAY_TRAINER_DATA_SHARD_H_
#define SLIPWAY_TRAINER_DATA_SHARD_H_

#include <cstdint>
#include <vector>

namespace slipway::data {

struct ShardShape {
  int64_t samples = 0;     // in the epoch's order, over all ranks
  int64_t batch_size = 1;  // of one rank; at least 1
  int rank = 0;
  int world_size = 1;  // at least 1
  bool drop_last = false;
};

class Shard {
 public:
  explicit Shard(const ShardShape& shape) : shape_(shape) {}

  // Batches of this rank, the same number for each.
  int64_t batches() const;
  // The places of batch `batch`, which are real below `samples`; those above
  // fill the share up and stand for place % samples. 0 <= batch < batches().
  std::vector<int64_t> Places(int64_t batch) const;
  // How many of Places(batch) are real; the others follow them.
  int64_t valid(int64_t batch) const;

 private:
  // Samples of each rank, with those that fill its share up.
  int64_t share() const;

  ShardShape shape_;
};

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_SHARD_H_
