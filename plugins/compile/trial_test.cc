#include "plugins/compile/trial.h"

#include <limits>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"

namespace slipway::compile {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

class TrialTest : public testing::Test {
 protected:
  // The model itself, with its outputs changed by `change`.
  Trial::Forward Model(
      std::function<at::Tensor(const at::Tensor&)> change = nullptr) {
    return [this, change](const Tensors& inputs) {
      const at::Tensor output = net_->Run(inputs.back());
      return Tensors{change ? change(output) : output};
    };
  }

  absl::Status Verify(const Trial::Forward& code) {
    Trial trial(Model(), inputs_, {});
    return trial.Verify(code);
  }

  const std::unique_ptr<nn::Module> net_ = TestNet(0.3);
  Inputs inputs_{*net_, Value(at::randn({4, 3, 8, 8}))};
};

TEST_F(TrialTest, TakesTheModelForItself) {
  const absl::Status status = Verify(Model());
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(TrialTest, LeavesBuffersGeneratorAndGradientsAsTheyWere) {
  const Tensors before = [&] {
    Tensors copies;
    for (const at::Tensor& buffer : inputs_.buffers()) {
      copies.push_back(buffer.clone());
    }
    return copies;
  }();
  Seed(5);
  const at::Tensor expected = at::randn({3});
  Seed(5);
  Trial trial(Model(), inputs_, {});
  ASSERT_TRUE(trial.Verify(Model()).ok());
  trial.Time({Model(), Model()}, 2);
  EXPECT_TRUE(at::randn({3}).equal(expected));
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(inputs_.buffers()[i].equal(before[i])) << i;
  }
  for (const at::Tensor& parameter : inputs_.parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST_F(TrialTest, NamesAnOutputThatIsOff) {
  const absl::Status status =
      Verify(Model([](const at::Tensor& y) { return y.mul(1.05); }));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("is off by"));
}

// Right outputs, wrong gradients: what a stride trap looks like.
TEST_F(TrialTest, NamesAGradientThatIsOff) {
  const absl::Status status = Verify(Model(
      [](const at::Tensor& y) { return y.add(y.sub(y.detach()), 0.16); }));
  EXPECT_THAT(status.message(), HasSubstr("gradient of "));
}

TEST_F(TrialTest, NamesABufferThatIsNotUpdated) {
  const absl::Status status = Verify([this](const Tensors& inputs) {
    const at::Tensor output = net_->Run(inputs.back());
    // Behind autograd's back, as compiled code writes.
    inputs_.buffers()[0].variable_data().zero_();
    return Tensors{output};
  });
  EXPECT_THAT(status.message(), HasSubstr("buffer 1.running_mean"));
}

TEST_F(TrialTest, RefusesWhatIsNotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(
      Verify(Model([nan](const at::Tensor& y) { return y.mul(nan); })).ok());
}

TEST_F(TrialTest, RefusesOtherShapesTypesAndCounts) {
  EXPECT_FALSE(
      Verify(Model([](const at::Tensor& y) { return y.flatten(); })).ok());
  EXPECT_FALSE(Verify(Model([](const at::Tensor& y) {
                 return y.to(at::kDouble);
               })).ok());
  EXPECT_FALSE(Verify([](const Tensors&) { return Tensors{}; }).ok());
}

TEST_F(TrialTest, TurnsWhatCodeThrowsIntoAnError) {
  const absl::Status status = Verify(
      [](const Tensors& inputs) { return Tensors{inputs.back().view({7})}; });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST_F(TrialTest, ComparesEvaluationWithoutGradients) {
  net_->Train(false);
  const TrialOptions options = {.differentiate = false};
  Trial trial(Model(), inputs_, options);
  EXPECT_TRUE(trial.Verify(Model()).ok());
  // Invisible without gradients.
  EXPECT_TRUE(trial
                  .Verify(Model([](const at::Tensor& y) {
                    return y.add(y.sub(y.detach()), 0.16);
                  }))
                  .ok());
  EXPECT_FALSE(
      trial.Verify(Model([](const at::Tensor& y) { return y.add(1); })).ok());
}

TEST_F(TrialTest, FindsTheSlowerOne) {
  Trial trial(Model(), inputs_, {});
  const Trial::Forward twice = [this](const Tensors& inputs) {
    for (int i = 0; i < 20; ++i) net_->Run(inputs.back());
    return Tensors{net_->Run(inputs.back())};
  };
  const std::vector<double> seconds = trial.Time({Model(), twice});
  ASSERT_EQ(seconds.size(), 2);
  EXPECT_LT(seconds[0], seconds[1]);
}

TEST_F(TrialTest, CountsWhatAPassHoldsAtOnce) {
  Trial trial(Model(), inputs_, {});
  const auto wasteful = Model([](const at::Tensor& output) {
    const at::Tensor megabyte = at::zeros({1 << 18});
    return output.add(megabyte.sum());
  });
  const std::vector<int64_t> bytes = trial.PeakBytes({Model(), wasteful});
  EXPECT_GT(bytes[0], 4 * 8 * 8 * 8 * 4);  // the convolution's output
  EXPECT_GE(bytes[1], bytes[0]);
  EXPECT_GT(bytes[1], 1 << 20);
}

}  // namespace
}  // namespace slipway::compile
