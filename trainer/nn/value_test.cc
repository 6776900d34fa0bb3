#include "trainer/nn/value.h"

#include <stdexcept>

#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

at::Tensor Filled(double value, at::IntArrayRef shape = {2}) {
  return at::full(shape, value);
}

// {main: 1, aux: [2, {deep: 3}]}
Value Nested() {
  return Value(Value::Map{
      {"main", Filled(1)},
      {"aux", Value::List{Filled(2), Value::Map{{"deep", Filled(3)}}}}});
}

TEST(Value, TellsItsKind) {
  EXPECT_TRUE(Value().empty());
  EXPECT_TRUE(Value(Filled(1)).is_tensor());
  EXPECT_TRUE(Value(Value::List{}).is_list());
  EXPECT_TRUE(Value(Value::Map{}).is_map());
  EXPECT_FALSE(Value(Value::List{}).empty());
}

TEST(Value, ThrowsWhenReadAsAnotherKind) {
  EXPECT_THROW(Value().tensor(), std::bad_variant_access);
  EXPECT_THROW(Value(Filled(1)).list(), std::bad_variant_access);
  EXPECT_THROW(Value(Value::List{}).map(), std::bad_variant_access);
}

TEST(Value, FindsEntriesOfMaps) {
  const Value value = Nested();
  ASSERT_NE(value.Find("aux"), nullptr);
  EXPECT_TRUE(value.Find("aux")->is_list());
  EXPECT_EQ(value.Find("deep"), nullptr);
}

TEST(Value, FlattensDepthFirst) {
  std::vector<double> order;
  for (const at::Tensor& tensor : Nested().Flatten()) {
    order.push_back(tensor[0].item<double>());
  }
  EXPECT_EQ(order, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(Value().Flatten().empty());
}

TEST(Value, UnflattensIntoTheSameStructure) {
  const std::vector<at::Tensor> others = {Filled(4, {1}), Filled(5, {2}),
                                          Filled(6, {3})};
  const Value back = Nested().Unflatten(others);
  EXPECT_EQ(back.ShapeString(),
            "{main: float[1], aux: [float[2], {deep: float[3]}]}");
  EXPECT_TRUE(back.Find("main")->tensor().is_same(others[0]));
}

TEST(Value, RefusesToUnflattenAnotherNumberOfTensors) {
  EXPECT_THROW(Nested().Unflatten({Filled(1), Filled(2)}),
               std::invalid_argument);
  EXPECT_THROW(Value(Filled(1)).Unflatten({Filled(1), Filled(2)}),
               std::invalid_argument);
}

TEST(Value, TransformsEachTensor) {
  const Value doubled =
      Nested().Transform([](const at::Tensor& t) { return t.mul(2); });
  double sum = 0;
  for (const at::Tensor& tensor : doubled.Flatten()) {
    sum += tensor.sum().item<double>();
  }
  EXPECT_EQ(sum, 2 * 2 * (1 + 2 + 3));
}

TEST(Value, SharesTensorsWhenCopied) {
  const Value value(Filled(1));
  const Value copy = value;
  value.tensor().fill_(7);
  EXPECT_EQ(copy.tensor()[0].item<double>(), 7);
}

TEST(Value, DescribesItsShape) {
  const at::Tensor scalar = at::full({}, 3, at::kLong);
  const struct {
    Value value;
    std::string text;
  } cases[] = {
      {Value(), "nothing"},
      {Value(at::Tensor()), "undefined"},
      {Filled(0, {2, 3}), "float[2, 3]"},
      {Value::List{Filled(0), scalar}, "[float[2], long[]]"},
      {Value::Map{}, "{}"},
      {Filled(0, {1}).to(at::kBFloat16), "bfloat16[1]"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.value.ShapeString(), c.text);
}

}  // namespace
}  // namespace slipway
