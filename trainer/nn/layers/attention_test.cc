#include "trainer/nn/layers/attention.h"

#include <cmath>

#include "ATen/Context.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/softmax.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

// The formula, head by head.
at::Tensor Expected(const Module& attention, const at::Tensor& x, int heads) {
  const auto state = attention.StateDict();
  const at::Tensor qkv = at::linear(x, state[0].second, state[1].second);
  const int64_t size = x.size(2) / heads;
  at::Tensor joined = x.mul(0);
  for (int64_t head = 0; head < heads; ++head) {
    const auto part = [&](int64_t which) {
      const int64_t start = which * x.size(2) + head * size;
      return qkv.slice(2, start, start + size);
    };
    const at::Tensor scores = part(0).matmul(part(1).transpose(1, 2));
    const at::Tensor weights =
        at::softmax(scores.div(std::sqrt(static_cast<double>(size))), 2);
    joined.slice(2, head * size, (head + 1) * size)
        .copy_(weights.matmul(part(2)));
  }
  return at::linear(joined, state[2].second, state[3].second);
}

TEST(SelfAttention, ComputesTheFormula) {
  at::manual_seed(2);
  const auto attention = SelfAttention({.dimension = 12, .heads = 3});
  const at::Tensor x = at::randn({2, 5, 12});
  EXPECT_TRUE(
      attention->Run(x).allclose(Expected(*attention, x, 3), 1e-4, 1e-6));
}

TEST(SelfAttention, TrainsAllOfItsParameters) {
  at::manual_seed(2);
  const auto attention = SelfAttention({.dimension = 8, .heads = 2});
  attention->Run(at::randn({2, 5, 8})).pow(2).sum().backward();
  for (const auto& [name, parameter] : attention->NamedParameters()) {
    EXPECT_GT(parameter.grad().abs().sum().item<double>(), 0) << name;
  }
}

TEST(SelfAttention, NamesItsPartsAsAsked) {
  const auto names = [](const SelfAttentionOptions& options) {
    std::string names;
    for (const auto& [name, unused] : SelfAttention(options)->StateDict()) {
      names += name + " ";
    }
    return names;
  };
  EXPECT_EQ(names({.dimension = 8}),
            "to_qkv.weight to_qkv.bias proj.weight proj.bias ");
  EXPECT_EQ(names({.dimension = 8, .qkv_bias = false, .qkv_name = "qkv"}),
            "qkv.weight proj.weight proj.bias ");
}

TEST(SelfAttention, DropsWeightsOnlyWhileTraining) {
  at::manual_seed(2);
  const auto attention =
      SelfAttention({.dimension = 8, .heads = 2, .dropout = 0.5});
  const at::Tensor x = at::randn({2, 5, 8});
  EXPECT_FALSE(attention->Run(x).equal(attention->Run(x)));
  attention->Train(false);
  EXPECT_TRUE(attention->Run(x).equal(attention->Run(x)));
}

TEST(SelfAttentionDeathTest, RefusesHeadsThatDoNotDivideTheFeatures) {
  EXPECT_DEATH(SelfAttention({.dimension = 8, .heads = 3}),
               "3 heads do not divide 8 features");
}

}  // namespace
}  // namespace slipway::nn
