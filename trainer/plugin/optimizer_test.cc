#include "trainer/plugin/optimizer.h"

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

class Idle : public Optimizer {
 public:
  explicit Idle(std::vector<ParameterGroup> groups)
      : Optimizer(std::move(groups)) {}
  absl::Status Step(const std::vector<double>& learning_rates) override {
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, OptimizerState>> State() const override {
    return {};
  }
  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>& state)
      override {
    return absl::OkStatus();
  }
};

TEST(Optimizer, ZeroGradDropsEveryGradient) {
  const at::Tensor used = at::ones({2}).requires_grad_();
  const at::Tensor unused = at::ones({2}).requires_grad_();
  const at::Tensor frozen = at::ones({2});
  used.mutable_grad() = at::ones({2});
  Idle optimizer(
      {{.name = "default", .parameters = {{"used", used}, {"frozen", frozen}}},
       {.name = "head", .parameters = {{"unused", unused}}}});
  optimizer.ZeroGrad();
  EXPECT_FALSE(used.grad().defined());
  EXPECT_FALSE(unused.grad().defined());
  EXPECT_EQ(optimizer.groups()[1].name, "head");
}

}  // namespace
}  // namespace slipway
