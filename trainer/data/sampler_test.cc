#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/data/dataset.h"
#include "trainer/recipe/node.h"

namespace slipway::data {
namespace {

using Order = std::vector<int64_t>;

Order Sorted(Order order) {
  std::sort(order.begin(), order.end());
  return order;
}

TEST(SequentialSampler, GoesFromTheFirstToTheLast) {
  const std::unique_ptr<Sampler> sampler = SequentialSampler(4);
  EXPECT_EQ(sampler->size(), 4);
  EXPECT_EQ(sampler->Order(0), (Order{0, 1, 2, 3}));
  EXPECT_EQ(sampler->Order(9), (Order{0, 1, 2, 3}));
}

TEST(ShuffleSampler, ShowsEverySampleOnceInANewOrderEachEpoch) {
  const std::unique_ptr<Sampler> sampler = ShuffleSampler(100, 42);
  const Order first = sampler->Order(0);
  EXPECT_EQ(sampler->size(), 100);
  EXPECT_EQ(Sorted(first), SequentialSampler(100)->Order(0));
  EXPECT_NE(first, Sorted(first));
  EXPECT_NE(sampler->Order(1), first);
  EXPECT_EQ(sampler->Order(0), first);
}

TEST(ShuffleSampler, DependsOnTheSeed) {
  EXPECT_NE(ShuffleSampler(100, 1)->Order(0), ShuffleSampler(100, 2)->Order(0));
}

TEST(ShuffleSampler, KeepsItsOrderFromOneReleaseToTheNext) {
  EXPECT_EQ(ShuffleSampler(10, 42)->Order(0),
            (Order{9, 4, 1, 2, 8, 6, 5, 7, 3, 0}));
}

TEST(RepeatSampler, ShowsEverySampleBeforeAnyAgain) {
  const std::unique_ptr<Sampler> sampler = RepeatSampler(10, 25, 42);
  const Order order = sampler->Order(3);
  ASSERT_EQ(order.size(), 25u);
  EXPECT_EQ(sampler->size(), 25);
  const Order all = SequentialSampler(10)->Order(0);
  const Order first(order.begin(), order.begin() + 10);
  const Order second(order.begin() + 10, order.begin() + 20);
  EXPECT_EQ(Sorted(first), all);
  EXPECT_EQ(Sorted(second), all);
  EXPECT_NE(first, second);
}

TEST(Sampler, IsEmptyForAnEmptyDataSet) {
  EXPECT_TRUE(SequentialSampler(0)->Order(0).empty());
  EXPECT_TRUE(ShuffleSampler(0, 1)->Order(0).empty());
  EXPECT_TRUE(RepeatSampler(0, 5, 1)->Order(0).empty());
  EXPECT_EQ(RepeatSampler(0, 5, 1)->size(), 0);
}

TEST(Sampler, HasNoParametersUnlessItSaysSo) {
  const absl::Status status =
      SequentialSampler(3)->Set("shuffle", recipe::Node::Bool(true));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "there is no parameter \"shuffle\" to set");
}

}  // namespace
}  // namespace slipway::data
