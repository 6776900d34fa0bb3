#include "ATen/core/Tensor.h"
#include "ATen/ops/zeros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/loop/trainer.h"

namespace slipway::loop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kFloat = 4;

std::unique_ptr<Trainer> Make(TrainerParts parts) {
  Problems problems;
  auto trainer = Trainer::Create(std::move(parts), Options(1), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  return trainer;
}

std::vector<int64_t> Sizes(const MemoryPlan& plan) {
  std::vector<int64_t> sizes;
  for (const auto& measurement : plan.measured) {
    sizes.push_back(measurement.batch_size);
  }
  return sizes;
}

TEST(MeasureMemory, KnowsTheModelAndMeasuresTheStep) {
  const absl::StatusOr<MemoryPlan> plan =
      Make(LinearParts(/*samples=*/64, /*batch_size=*/64))->MeasureMemory();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parameters, (2 * 2 + 2) * kFloat);
  EXPECT_EQ(plan->gradients, plan->parameters);
  EXPECT_EQ(plan->optimizer, 0);
  EXPECT_EQ(plan->plugins, 0);
  EXPECT_EQ(plan->batch_size, 64);
  EXPECT_THAT(Sizes(*plan), ElementsAre(8, 16));
  // At least the logits and the losses' parts grow with the batch.
  EXPECT_GE(plan->per_sample, 2 * 2 * kFloat);
  EXPECT_GT(plan->activations, 64 * 2 * kFloat);
  EXPECT_GT(plan->process, 0);
  EXPECT_GT(plan->available, plan->total);
  EXPECT_GT(plan->largest_batch, 64);
}

TEST(MeasureMemory, FindsTwoSizesForSmallBatches) {
  const struct {
    int64_t batch_size;
    std::vector<int64_t> sizes;
  } cases[] = {
      {1, {1, 2}}, {2, {2, 4}}, {3, {2, 3}}, {4, {2, 4}}, {12, {6, 12}}};
  for (const auto& test : cases) {
    const auto plan = Make(LinearParts(24, test.batch_size))->MeasureMemory();
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Sizes(*plan), test.sizes);
  }
}

TEST(MeasureMemory, TellsWhatPluginsHold) {
  TrainerParts parts = LinearParts(64, 64);
  auto probe = std::make_unique<Probe>();
  // A hook's own tensors are the plugin's.
  at::Tensor own;
  probe->fit_begin = [&own](FitContext&) {
    own = at::zeros({1000});
    return absl::OkStatus();
  };
  parts.hooks = ProbeRunner(std::move(probe));
  const auto plan = Make(std::move(parts))->MeasureMemory();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plugins, 1000 * kFloat);
}

TEST(MeasureMemory, SaysWhatWentWrong) {
  TrainerParts parts = LinearParts(64, 64);
  parts.train_loader = PointsLoader(64, 64, [](int64_t, data::Sample&) {
    return absl::NotFoundError("no image 3.png");
  });
  const auto plan = Make(std::move(parts))->MeasureMemory();
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("3.png"));
}

}  // namespace
}  // namespace slipway::loop
