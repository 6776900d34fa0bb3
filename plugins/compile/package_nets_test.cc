// Nets of other kinds, compiled, against themselves.
#include <memory>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/silu.h"
#include "ATen/ops/upsample_bilinear2d.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"
#include "plugins/compile/test_package.h"
#include "trainer/nn/layers/attention.h"

namespace slipway::compile {
namespace {

// Two convolutions around a shortcut.
class Residual : public nn::TensorModule {
 public:
  explicit Residual(int64_t channels)
      : first_(Add(
            "first",
            nn::Conv2d(
                {.in = channels, .out = channels, .kernel = 3, .padding = 1}))),
        norm_(Add("norm", nn::BatchNorm2d(channels))),
        second_(
            Add("second",
                nn::Conv2d({.in = channels, .out = channels, .kernel = 1}))) {}
  std::string kind() const override { return "Residual"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.add(second_(norm_(first_(x)).relu()));
  }

 private:
  nn::Child first_, norm_, second_;
};

// Two heads, the second at the input's size.
class TwoHeads : public nn::Module {
 public:
  TwoHeads()
      : stem_(Add(
            "stem",
            nn::Conv2d(
                {.in = 3, .out = 6, .kernel = 3, .stride = 2, .padding = 1}))),
        depthwise_(Add(
            "depthwise",
            nn::Conv2d(
                {.in = 6, .out = 6, .kernel = 3, .padding = 1, .groups = 6}))),
        head_(Add("head", nn::Conv2d({.in = 6, .out = 2, .kernel = 1}))) {}
  std::string kind() const override { return "TwoHeads"; }

 protected:
  Value Forward(const Value& input) override {
    const at::Tensor x = stem_(input.tensor());
    const at::Tensor y = head_(at::silu(depthwise_(x)));
    const at::Tensor large =
        at::upsample_bilinear2d(y, {8, 8}, /*align_corners=*/false);
    return Value(Value::Map{{"main", large}, {"aux", y}});
  }

 private:
  nn::Child stem_, depthwise_, head_;
};

TEST(Package, IsAResidualBlockInBothLayouts) {
  for (const char* candidate : {"plain", "layout"}) {
    Compiled compiled(
        nn::Sequential(nn::Conv2d({.in = 3, .out = 8, .kernel = 1}),
                       std::make_unique<Residual>(8)),
        Images(4), candidate);
    const absl::Status status = compiled.Verify(Images(4));
    EXPECT_TRUE(status.ok()) << candidate << ": " << status;
  }
}

TEST(Package, IsAttention) {
  Compiled compiled(
      nn::Sequential(nn::LayerNorm({.shape = {16}}),
                     nn::SelfAttention({.dimension = 16, .heads = 2})),
      Value(at::randn({4, 5, 16})));
  const absl::Status status = compiled.Verify(Value(at::randn({3, 5, 16})));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Package, HasSeveralOutputs) {
  Compiled compiled(std::make_unique<TwoHeads>(), Images(4));
  const absl::Status status = compiled.Verify(Images(4));
  EXPECT_TRUE(status.ok()) << status;
}

// Masks are drawn as eager draws them: equal numbers, forward and backward.
TEST(Package, DropsWhatTheModelDrops) {
  Compiled compiled(TestNet(0.5), Images(8));
  const absl::Status status = compiled.Verify(Images(8));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Package, IsTheModelInEvaluation) {
  Compiled compiled(TestNet(0.5), Images(4), "plain",
                    {.differentiate = false, .dynamic_batch = true});
  const at::NoGradGuard no_gradients;
  const absl::Status status = compiled.Verify(Images(6));
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace slipway::compile
