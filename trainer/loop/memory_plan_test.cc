#include "trainer/loop/memory_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using ::testing::HasSubstr;

// A step holds 40 MB (the gradients) and 1 MB a sample.
MemoryPlan Plan() {
  MemoryPlan plan;
  plan.parameters = 40'000'000;
  plan.buffers = 1'000'000;
  plan.gradients = 40'000'000;
  plan.optimizer = 80'000'000;
  plan.plugins = 41'000'000;
  plan.measured = {{8, 48'000'000}, {16, 56'000'000}};
  plan.sample_in_loader = 500'000;
  plan.process = 200'000'000;
  plan.batch_size = 64;
  plan.available = 1'000'000'000;
  plan.seconds = 0.75;
  return plan;
}

TEST(MemoryPlan, ExtrapolatesInTheBatch) {
  MemoryPlan plan = Plan();
  FitBatch(plan);
  EXPECT_EQ(plan.activations, 64'000'000);
  EXPECT_EQ(plan.loader, 32'000'000);
  EXPECT_EQ(plan.per_sample, 1'500'000);
  EXPECT_EQ(plan.total, 498'000'000);
  // 402'000'000 are what a batch of none needs.
  EXPECT_EQ(plan.largest_batch, 598'000'000 / 1'500'000);
}

TEST(MemoryPlan, FindsTheLargestBatchBelowTheRecipesToo) {
  MemoryPlan plan = Plan();
  plan.available = 450'000'000;
  FitBatch(plan);
  EXPECT_EQ(plan.largest_batch, 32);  // 48 MB of 1.5 MB
  EXPECT_THAT(FormatMemoryPlan(plan),
              HasSubstr("batch_size 64 does not fit; the largest batch_size "
                        "that fits is about 32"));
  plan.available = 403'000'000;
  FitBatch(plan);
  EXPECT_EQ(plan.largest_batch, 0);
  EXPECT_THAT(FormatMemoryPlan(plan), HasSubstr("not even a batch of one"));
}

TEST(MemoryPlan, StartsFromTheGradientsWithOneMeasurement) {
  MemoryPlan plan = Plan();
  plan.measured = {{4, 44'000'000}};
  FitBatch(plan);
  EXPECT_EQ(plan.activations, 64'000'000);
}

TEST(MemoryPlan, IsNotFooledByALargerBatchThatTookNoMore) {
  MemoryPlan plan = Plan();
  plan.measured = {{8, 48'000'000}, {16, 48'000'000}};
  FitBatch(plan);
  EXPECT_EQ(plan.activations, 32'000'000);
  plan.measured = {{8, 1}, {16, 1}};
  FitBatch(plan);
  EXPECT_GT(plan.per_sample, 0);
}

TEST(MemoryPlan, SaysWhatIsUnknown) {
  MemoryPlan plan = Plan();
  plan.available = 0;
  FitBatch(plan);
  EXPECT_TRUE(ToJson(plan)["available"].is_null());
  EXPECT_TRUE(ToJson(plan)["largest_batch"].is_null());
  EXPECT_THAT(FormatMemoryPlan(plan), HasSubstr("unknown"));
}

TEST(MemoryPlan, IsATable) {
  MemoryPlan plan = Plan();
  FitBatch(plan);
  plan.buffers = 0;
  EXPECT_EQ(FormatMemoryPlan(plan), R"(  parameters      40.0 MB
  gradients       40.0 MB
  optimizer       80.0 MB
  plugins         41.0 MB
  activations     64.0 MB
  loader          32.0 MB
  process        200.0 MB
  total          498.0 MB
  at batch_size 64, from batches of 8 and 16, measured in 0.8 s
  there are 1.00 GB: the largest batch_size that fits is about 398
)");
}

}  // namespace
}  // namespace slipway::loop
