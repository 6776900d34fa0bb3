#include "trainer/dist/buffer_sync.h"

#include <limits>
#include <string>

#include "ATen/ops/full.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"

namespace slipway::dist {
namespace {

using testing::Each;

// What a buffer is after a step that has made it 10 * rank + 1, and an integer
// one rank + 5.
std::vector<std::string> AfterAStep(BufferPolicy policy) {
  return Said(RunRanks(2, [=](ProcessGroup& group, std::ostream& out) {
    const at::Tensor mean = at::full({3}, 0.0);
    const at::Tensor fine = at::full({}, 0.0, at::kDouble);
    const at::Tensor count = at::full({}, 0, at::kLong);
    BufferSync sync(group, {mean, fine, count}, policy);
    mean.fill_(10 * group.rank() + 1);
    fine.fill_(10 * group.rank() + 1);
    count.fill_(5);
    sync.Begin();
    if (!sync.Finish().ok()) std::abort();
    out << mean[2].item().toDouble() << " " << fine.item().toDouble() << " "
        << count.item().toLong();
  }));
}

TEST(BufferSync, TakesTheMean) {
  EXPECT_THAT(AfterAStep(BufferPolicy::kReduce), Each("6 6 5"));
}

TEST(BufferSync, TakesRankZeros) {
  EXPECT_THAT(AfterAStep(BufferPolicy::kBroadcast), Each("1 1 5"));
}

TEST(BufferSync, KeepsARanksNotANumberFromTheOthers) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor mean = at::full({3}, 1.0);
        BufferSync sync(group, {mean}, BufferPolicy::kReduce);
        const bool spoilt = group.rank() == 1;
        mean.fill_(spoilt ? std::numeric_limits<double>::quiet_NaN() : 2);
        sync.Begin(/*as_before=*/spoilt);
        if (!sync.Finish().ok()) std::abort();
        out << mean[0].item().toDouble();
      }));
  EXPECT_THAT(said, Each("1.5"));
}

TEST(BufferSync, ChangesNothingInAWorldOfOne) {
  ProcessGroup group;
  const at::Tensor mean = at::full({3}, 2.0);
  BufferSync sync(group, {mean}, BufferPolicy::kReduce);
  sync.Begin();
  EXPECT_TRUE(sync.Finish().ok());
  EXPECT_EQ(mean[0].item().toDouble(), 2);
}

}  // namespace
}  // namespace slipway::dist
