#include "plugins/ema/weight_average.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "plugins/ema/test_net.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::ema {
namespace {

double Value(const std::vector<nn::NamedTensor>& state,
             const std::string& name) {
  for (const auto& [key, tensor] : state) {
    if (key == name) return tensor.to(at::kDouble).mean().item<double>();
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST(WeightAverage, StartsAtTheModelAsACopy) {
  TestNet net;
  WeightAverage average(net);
  net.Set(5, 6, 7);
  const auto state = average.State();
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[0].first, "weight");
  EXPECT_EQ(Value(state, "weight"), 1);
  EXPECT_EQ(Value(state, "running_mean"), 10);
  EXPECT_FALSE(state[0].second.requires_grad());
}

TEST(WeightAverage, MovesParametersAndFloatingBuffers) {
  TestNet net;
  WeightAverage average(net);
  net.Set(2, 20, 1);
  average.Update(0.75);
  net.Set(4, 0, 2);
  average.Update(0.5);
  const auto state = average.State();
  EXPECT_DOUBLE_EQ(Value(state, "weight"), (1.25 + 4) / 2);
  EXPECT_DOUBLE_EQ(Value(state, "running_mean"), 12.5 / 2);
  EXPECT_EQ(Value(state, "num_batches_tracked"), 2);
  EXPECT_EQ(net.weight().mean().item<double>(), 4);
}

TEST(WeightAverage, KeepsSmallDifferencesWithALongMemory) {
  TestNet net;
  WeightAverage average(net);
  double expected = 1;
  for (int step = 0; step < 1000; ++step) {
    net.Set(1 + step * 0.01, 0, 0);
    average.Update(0.9999);
    expected = 0.9999 * expected + 0.0001 * (1 + step * 0.01);
  }
  EXPECT_NEAR(Value(average.State(), "weight"), expected, 1e-5);
}

TEST(WeightAverage, LeavesIntegersAtTheirFirstValueIfFrozen) {
  TestNet net;
  WeightAverage average(net, /*freeze_integers=*/true);
  net.Set(1, 1, 9);
  average.Update(0.5);
  EXPECT_EQ(Value(average.State(), "num_batches_tracked"), 0);
}

TEST(WeightAverage, ChangesHandsWithoutCopying) {
  TestNet net;
  WeightAverage average(net);
  net.Set(3, 30, 1);
  average.Update(0.5);
  const void* own = net.weight().data_ptr();
  const void* averaged = average.State()[0].second.data_ptr();
  const at::Tensor x = at::ones({1});
  {
    const std::unique_ptr<Scope> scope = average.SwapIn();
    EXPECT_EQ(net.weight().data_ptr(), averaged);
    EXPECT_TRUE(net.weight().requires_grad());
    EXPECT_TRUE(net.weight().is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_FLOAT_EQ(net.Run(x).item<float>(), 2 + 20);
  }
  EXPECT_EQ(net.weight().data_ptr(), own);
  EXPECT_FLOAT_EQ(net.Run(x).item<float>(), 3 + 30);
}

TEST(WeightAverage, LeavesTheModelTrainableAfterASwap) {
  TestNet net;
  WeightAverage average(net);
  net.Run(at::ones({1})).sum().backward();
  const at::Tensor before = net.weight().grad().clone();
  { const std::unique_ptr<Scope> scope = average.SwapIn(); }
  net.Run(at::ones({1})).sum().backward();
  EXPECT_TRUE(net.weight().grad().equal(before.mul(2)));
  net.Set(3, 10, 0);
  average.Update(0.5);
  EXPECT_EQ(Value(average.State(), "weight"), 2);
}

// One tensor under two names, as in models with tied weights.
class Tied : public nn::TensorModule {
 public:
  Tied() {
    const at::Tensor weight = at::ones({2});
    first_ = AddParameter("first", weight);
    AddParameter("second", weight);
  }
  std::string kind() const override { return "Tied"; }
  const at::Tensor& weight() const { return first_; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.mul(first_);
  }

 private:
  at::Tensor first_;
};

TEST(WeightAverage, RestoresATensorOfTwoNames) {
  Tied net;
  WeightAverage average(net);
  const void* own = net.weight().data_ptr();
  { const std::unique_ptr<Scope> scope = average.SwapIn(); }
  EXPECT_EQ(net.weight().data_ptr(), own);
}

TEST(WeightAverage, LoadsByNameAsACopy) {
  TestNet net;
  WeightAverage average(net);
  const at::Tensor weight = at::full({2, 3, 2, 2}, 7.0);
  ASSERT_TRUE(average
                  .Load({{"num_batches_tracked", at::full({}, 3)},
                         {"weight", weight},
                         {"running_mean", at::full({2}, 8.0)}})
                  .ok());
  const auto state = average.State();
  EXPECT_EQ(Value(state, "weight"), 7);
  EXPECT_EQ(Value(state, "running_mean"), 8);
  EXPECT_EQ(Value(state, "num_batches_tracked"), 0);  // the model's
  EXPECT_NE(state[0].second.data_ptr(), weight.data_ptr());
  EXPECT_EQ(net.weight().mean().item<double>(), 1);
}

TEST(WeightAverage, ListsAllThatDoesNotFitAndChangesNothing) {
  TestNet net;
  WeightAverage average(net);
  EXPECT_EQ(average.Load({{"weight", at::full({2, 3}, 7.0)},
                          {"running_mean", at::full({2}, 8.0)},
                          {"head.bias", at::ones({1})}}),
            absl::InvalidArgumentError(
                "ema_net does not fit the model: weight has shape [2, 3], "
                "expected [2, 3, 2, 2]; missing num_batches_tracked; "
                "unexpected head.bias"));
  EXPECT_EQ(Value(average.State(), "running_mean"), 10);
}

TEST(WeightAverage, NoticesAReplacedLayer) {
  const auto net = nn::Sequential(nn::Linear({.in = 2, .out = 2}),
                                  nn::Linear({.in = 2, .out = 2}));
  const WeightAverage average(*net);
  EXPECT_TRUE(average.CheckModel(*net).ok());
  ASSERT_TRUE(net->Replace("1", nn::Linear({.in = 2, .out = 2})).ok());
  EXPECT_EQ(average.CheckModel(*net),
            absl::FailedPreconditionError(
                "the model's tensor \"1.weight\" was put in place after its "
                "average began; replace layers in TransformModel"));
}

}  // namespace
}  // namespace slipway::ema
