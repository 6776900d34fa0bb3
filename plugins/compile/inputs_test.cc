#include "plugins/compile/inputs.h"

#include "ATen/ops/randn.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"

namespace slipway::compile {
namespace {

TEST(Inputs, ListsParametersThenBuffersThenTheBatch) {
  const std::unique_ptr<nn::Module> net = TestNet();
  const Inputs inputs(*net, Value(Value::List{Value(at::randn({2, 3, 8, 8})),
                                              Value(at::randn({2}))}));
  EXPECT_EQ(inputs.parameter_count(), net->NamedParameters().size());
  EXPECT_EQ(inputs.buffer_count(), net->NamedBuffers().size());
  EXPECT_EQ(inputs.batch_count(), 2);
  EXPECT_EQ(inputs.names().front(), "0.weight");
  EXPECT_EQ(inputs.names().back(), "batch.1");
  EXPECT_TRUE(inputs.buffers()[0].is_same(net->NamedBuffers()[0].second));
}

TEST(Inputs, ForgetsTheBatchBefore) {
  const std::unique_ptr<nn::Module> net = TestNet();
  Inputs inputs(*net, at::randn({2, 3, 8, 8}));
  inputs.set_batch(at::randn({4, 3, 8, 8}));
  ASSERT_EQ(inputs.batch_count(), 1);
  EXPECT_EQ(inputs.batch()[0].size(0), 4);
}

class MatchTest : public testing::Test {
 protected:
  // Whether this batch is of the type of one of [4, 3, 8, 8].
  bool Fits(const at::Tensor& batch,
            const std::optional<BatchSizes>& sizes = std::nullopt) {
    Inputs inputs(*net_, at::randn({4, 3, 8, 8}));
    const std::vector<TensorType> types = TypesOf(inputs.tensors());
    inputs.set_batch(batch);
    return Match(inputs.tensors(), types, inputs.state_size(), sizes);
  }

  const std::unique_ptr<nn::Module> net_ = TestNet();
};

TEST_F(MatchTest, TakesWhatIsOfTheSameType) {
  EXPECT_TRUE(Fits(at::randn({4, 3, 8, 8})));
}

TEST_F(MatchTest, RefusesOtherSizesStridesAndTypes) {
  EXPECT_FALSE(Fits(at::randn({5, 3, 8, 8})));
  EXPECT_FALSE(Fits(at::randn({4, 3, 8, 9})));
  EXPECT_FALSE(Fits(at::randn({4, 3, 8})));
  EXPECT_FALSE(Fits(at::randn({4, 3, 8, 8}, at::kDouble)));
  EXPECT_FALSE(
      Fits(at::randn({4, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast)));
  EXPECT_FALSE(Fits(at::randn({4, 3, 8, 8}).requires_grad_()));
}

TEST_F(MatchTest, TakesBatchSizesInTheRange) {
  const BatchSizes sizes = {2, 6};
  EXPECT_FALSE(Fits(at::randn({1, 3, 8, 8}), sizes));
  EXPECT_TRUE(Fits(at::randn({2, 3, 8, 8}), sizes));
  EXPECT_TRUE(Fits(at::randn({6, 3, 8, 8}), sizes));
  EXPECT_FALSE(Fits(at::randn({7, 3, 8, 8}), sizes));
  EXPECT_FALSE(Fits(at::randn({2, 3, 9, 8}), sizes));
}

TEST_F(MatchTest, RefusesAModelThatHasChanged) {
  Inputs inputs(*net_, at::randn({4, 3, 8, 8}));
  const std::vector<TensorType> types = TypesOf(inputs.tensors());
  net_->NamedParameters()[0].second.set_requires_grad(false);
  EXPECT_FALSE(
      Match(inputs.tensors(), types, inputs.state_size(), BatchSizes{2, 100}));
}

TEST(Inputs, OfAStepHaveWhatItUpdatesBeforeNumbersAndBatch) {
  const std::unique_ptr<nn::Module> net = TestNet();
  const Value batch(Value::Map{{"input", Value(at::randn({4, 3, 8, 8}))},
                               {"target", Value(at::randn({4}))}});
  const at::Tensor momentum = at::randn({2});
  const Inputs inputs(*net, {{"momentum/a", momentum}}, at::randn({3}), batch);
  EXPECT_EQ(inputs.updated_count(), 1);
  EXPECT_EQ(inputs.batch_count(), 2);
  EXPECT_EQ(inputs.written_names().back(), "momentum/a");
  EXPECT_EQ(inputs.names()[inputs.state_size() - 1], "numbers");
  const Value found = inputs.BatchIn(inputs.tensors(), batch);
  EXPECT_TRUE(
      found.Find("target")->tensor().is_same(batch.Find("target")->tensor()));
  EXPECT_EQ(Inputs(*net, batch).updated_count(), 0);
}

}  // namespace
}  // namespace slipway::compile
