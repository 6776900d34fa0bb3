#include "trainer/nn/allocation_counter.h"

#include "ATen/core/Tensor.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/ones.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

constexpr int64_t kFloats = 1000;
constexpr int64_t kBytes = kFloats * 4;

TEST(AllocationCounter, CountsWhatIsThereAndTheMostThereWas) {
  const AllocationCounter counter(at::kCPU);
  const at::Tensor kept = at::empty({kFloats});
  EXPECT_EQ(counter.live(), kBytes);
  { const at::Tensor gone = at::empty({3 * kFloats}); }
  EXPECT_EQ(counter.live(), kBytes);
  EXPECT_EQ(counter.peak(), 4 * kBytes);
}

TEST(AllocationCounter, StartsAPeakAnew) {
  AllocationCounter counter(at::kCPU);
  { const at::Tensor gone = at::empty({3 * kFloats}); }
  counter.ResetPeak();
  EXPECT_EQ(counter.peak(), 0);
  const at::Tensor kept = at::empty({kFloats});
  EXPECT_EQ(counter.peak(), kBytes);
}

TEST(AllocationCounter, SeesWhatGradientsTake) {
  const at::Tensor weight = at::ones({kFloats}).requires_grad_();
  const AllocationCounter counter(at::kCPU);
  weight.mul(weight).sum().backward();
  EXPECT_GE(counter.live(), kBytes);
  EXPECT_GE(counter.peak(), 2 * kBytes);
}

TEST(AllocationCounter, LeavesOtherDevicesAndTimesOut) {
  const AllocationCounter counter(at::kCUDA);
  const at::Tensor tensor = at::empty({kFloats});
  EXPECT_EQ(counter.live(), 0);
}

}  // namespace
}  // namespace slipway::nn
