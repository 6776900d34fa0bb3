#include "trainer/data/shard.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace slipway::data {
namespace {

using Places = std::vector<int64_t>;

TEST(Shard, CountsBatches) {
  struct Case {
    int64_t samples, batch_size;
    int world_size;
    bool drop_last;
    int64_t batches;
  };
  const Case cases[] = {
      {10, 5, 1, false, 2}, {11, 5, 1, false, 3}, {11, 5, 1, true, 2},
      {4, 5, 1, false, 1},  {4, 5, 1, true, 0},   {0, 5, 1, false, 0},
      {10, 2, 3, false, 2}, {9, 2, 3, false, 2},  {9, 2, 3, true, 1},
      {10, 2, 3, true, 2},  {1, 2, 3, false, 1},
  };
  for (const Case& c : cases) {
    const Shard shard({.samples = c.samples,
                       .batch_size = c.batch_size,
                       .world_size = c.world_size,
                       .drop_last = c.drop_last});
    EXPECT_EQ(shard.batches(), c.batches)
        << c.samples << " samples, batches of " << c.batch_size << ", "
        << c.world_size << " ranks, drop_last " << c.drop_last;
  }
}

TEST(Shard, DealsPlacesOutByRank) {
  const Shard rank0({.samples = 10, .batch_size = 2, .world_size = 3});
  EXPECT_EQ(rank0.Places(0), (Places{0, 3}));
  EXPECT_EQ(rank0.Places(1), (Places{6, 9}));
  EXPECT_EQ(rank0.valid(1), 2);

  const Shard rank1(
      {.samples = 10, .batch_size = 2, .rank = 1, .world_size = 3});
  EXPECT_EQ(rank1.Places(0), (Places{1, 4}));
  EXPECT_EQ(rank1.Places(1), (Places{7, 10}));
  EXPECT_EQ(rank1.valid(0), 2);
  EXPECT_EQ(rank1.valid(1), 1);
}

TEST(Shard, KeepsAShortLastBatch) {
  const Shard shard({.samples = 5, .batch_size = 3});
  EXPECT_EQ(shard.Places(1), (Places{3, 4}));
  EXPECT_EQ(shard.valid(1), 2);
}

TEST(Shard, FillsARankThatHasNoSampleAtAll) {
  const Shard shard(
      {.samples = 1, .batch_size = 2, .rank = 2, .world_size = 3});
  EXPECT_EQ(shard.Places(0), Places{2});
  EXPECT_EQ(shard.valid(0), 0);
}

Places BatchOfAllRanks(int64_t batch, int64_t batch_size, int world_size) {
  Places places;
  for (int rank = 0; rank < world_size; ++rank) {
    const Shard shard({.samples = 24,
                       .batch_size = batch_size,
                       .rank = rank,
                       .world_size = world_size});
    const Places own = shard.Places(batch);
    places.insert(places.end(), own.begin(), own.end());
  }
  std::sort(places.begin(), places.end());
  return places;
}

TEST(Shard, ShowsTheSameSamplesAtAStepWhateverTheNumberOfRanks) {
  for (int64_t batch = 0; batch < 2; ++batch) {
    const Places alone = BatchOfAllRanks(batch, 12, 1);
    EXPECT_EQ(BatchOfAllRanks(batch, 6, 2), alone);
    EXPECT_EQ(BatchOfAllRanks(batch, 4, 3), alone);
    EXPECT_EQ(BatchOfAllRanks(batch, 2, 6), alone);
  }
}

}  // namespace
}  // namespace slipway::data
