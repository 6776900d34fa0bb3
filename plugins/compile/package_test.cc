// One small net, compiled: package_nets_test.cc has others.
#include "plugins/compile/package.h"

#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/log_softmax.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"
#include "plugins/compile/test_package.h"

namespace slipway::compile {
namespace {

TEST(Package, IsTheModelWithOtherBatchesOfAnySize) {
  Compiled compiled(TestNet(), Images(4));
  ASSERT_NE(compiled.package(), nullptr);
  EXPECT_TRUE(compiled.package()->facts().batch_sizes.has_value());
  for (const int64_t size : {4, 2, 7, 32}) {
    const absl::Status status = compiled.Verify(Images(size));
    EXPECT_TRUE(status.ok()) << size << ": " << status;
  }
}

TEST(Package, AccumulatesGradients) {
  Compiled compiled(TestNet(), Images(4));
  ASSERT_NE(compiled.package(), nullptr);
  const auto gradient = [&](int passes) {
    for (int i = 0; i < passes; ++i) compiled.Run()[0].sum().backward();
    at::Tensor weight = compiled.net().NamedParameters()[0].second;
    return std::exchange(weight.mutable_grad(), at::Tensor());
  };
  const at::Tensor once = gradient(1);
  EXPECT_TRUE(gradient(2).allclose(once.mul(2), 1e-4, 1e-6));
}

TEST(Package, GoesBackTwiceOnlyIfTheGraphIsKept) {
  Compiled compiled(TestNet(), Images(4));
  ASSERT_NE(compiled.package(), nullptr);
  const at::Tensor loss = compiled.Run()[0].sum();
  at::Tensor weight = compiled.net().NamedParameters()[0].second;
  loss.backward({}, /*retain_graph=*/true);
  const at::Tensor once = weight.grad().clone();
  loss.backward();
  EXPECT_TRUE(weight.grad().allclose(once.mul(2), 1e-4, 1e-6));
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(Package, NeedsNoHistoryWithoutGradients) {
  Compiled compiled(TestNet(), Images(4));
  ASSERT_NE(compiled.package(), nullptr);
  const at::NoGradGuard no_gradients;
  EXPECT_FALSE(compiled.Run()[0].requires_grad());
}

// {loss, prediction}, of which the latter is looked at after the backward pass.
class WithLoss : public nn::Module {
 public:
  WithLoss() : net_(Add("net", TestNet())) {}
  std::string kind() const override { return "WithLoss"; }

 protected:
  Value Forward(const Value& input) override {
    const at::Tensor scores = net_(input.tensor());
    const at::Tensor loss = at::log_softmax(scores, 1).square().mean();
    return Value(Value::Map{{"loss", Value(loss)},
                            {"prediction", Value(scores.detach())}});
  }

 private:
  nn::Child net_;
};

TEST(Package, KeepsWhatIsReturnedBesideTheLoss) {
  Compiled compiled(std::make_unique<WithLoss>(), Images(4));
  ASSERT_NE(compiled.package(), nullptr);
  const absl::Status status = compiled.Verify(Images(6));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(compiled.Run()[1].requires_grad());
}

TEST(PackageLoad, RefusesWhatIsNoPackage) {
  EXPECT_EQ(Package::Load("/nowhere").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace slipway::compile
