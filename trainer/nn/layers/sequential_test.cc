#include "trainer/nn/layers/sequential.h"

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

std::vector<std::string> ChildNames(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, child] : module.Children()) names.push_back(name);
  return names;
}

TEST(Sequential, RunsItsModulesInOrder) {
  const auto model = Sequential(Linear({.in = 2, .out = 3}), ReLU(),
                                Linear({.in = 3, .out = 1}));
  const at::Tensor x = at::ones({4, 2});
  const at::Tensor expected =
      model->Find("2")->Run(model->Find("1")->Run(model->Find("0")->Run(x)));
  EXPECT_TRUE(model->Run(x).equal(expected));
  EXPECT_EQ(ChildNames(*model), (std::vector<std::string>{"0", "1", "2"}));
}

TEST(Sequential, IsTheIdentityWhenEmpty) {
  const at::Tensor x = at::ones({4, 2});
  EXPECT_TRUE(Sequential()->Run(x).is_same(x));
}

TEST(Sequential, PassesOnValuesOfEveryKind) {
  const Value pair(Value::List{at::ones({1}), at::ones({2})});
  EXPECT_EQ(Sequential(Identity())->Run(pair).ShapeString(),
            "[float[1], float[2]]");
}

TEST(Sequential, TakesReplacements) {
  const auto model = Sequential(Linear({.in = 2, .out = 3}), ReLU());
  ASSERT_TRUE(model->Replace("1", Softmax(1)).ok());
  EXPECT_NEAR(model->Run(at::ones({4, 2})).sum().item<double>(), 4, 1e-6);
}

TEST(NamedSequential, UsesTheGivenNames) {
  NamedModuleList modules;
  modules.emplace_back("block_0", Linear({.in = 2, .out = 3}));
  modules.emplace_back("block_1", ReLU());
  const auto model = NamedSequential(std::move(modules));
  EXPECT_EQ(ChildNames(*model),
            (std::vector<std::string>{"block_0", "block_1"}));
  EXPECT_EQ(model->Run(at::ones({4, 2})).size(1), 3);
}

}  // namespace
}  // namespace slipway::nn
