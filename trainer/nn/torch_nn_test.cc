#include "trainer/nn/torch_nn.h"

#include <string>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "torch/nn/modules/batchnorm.h"
#include "torch/nn/modules/linear.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

struct ForeignImpl : torch::nn::Module {
  ForeignImpl() : fc(4, 3), bn(3) {
    register_module("fc", fc);
    register_module("bn", bn);
  }
  at::Tensor forward(const at::Tensor& x) { return bn(fc(x)); }

  torch::nn::Linear fc;
  torch::nn::BatchNorm1d bn;
};

std::unique_ptr<Module> Wrapped() {
  auto foreign = std::make_shared<ForeignImpl>();
  return WrapTorchNn(foreign, [foreign](const Value& x) {
    return Value(foreign->forward(x.tensor()));
  });
}

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TEST(WrapTorchNn, ListsItsPartsUnderItsPlace) {
  const auto model = Sequential(Wrapped(), Linear({.in = 3, .out = 1}));
  EXPECT_EQ(Names(model->StateDict()),
            (std::vector<std::string>{
                "0.fc.weight", "0.fc.bias", "0.bn.weight", "0.bn.bias",
                "0.bn.running_mean", "0.bn.running_var",
                "0.bn.num_batches_tracked", "1.weight", "1.bias"}));
}

TEST(WrapTorchNn, TrainsAsPartOfAModel) {
  at::manual_seed(3);
  const auto model = Sequential(Wrapped(), Linear({.in = 3, .out = 1}));
  const at::Tensor x = at::randn({16, 4}), y = x.sum(1, /*keepdim=*/true);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    const at::Tensor loss = model->Run(x).sub(y).pow(2).mean();
    losses.push_back(loss.item<double>());
    loss.backward();
    const c10::AutoGradMode no_grad(false);
    for (const auto& [name, parameter] : model->NamedParameters()) {
      parameter.sub_(parameter.grad(), 0.05);
      parameter.mutable_grad() = at::Tensor();
    }
  }
  EXPECT_LT(losses.back(), 0.2 * losses.front());
}

TEST(WrapTorchNn, FollowsTheModeOfTheModel) {
  const auto model = Sequential(Wrapped());
  const at::Tensor x = at::ones({2, 4});
  const at::Tensor mean = model->StateDict()[4].second;
  model->Train(false);
  model->Run(x);
  EXPECT_EQ(mean.abs().sum().item<double>(), 0);
  model->Train();
  model->Run(x);
  EXPECT_GT(mean.abs().sum().item<double>(), 0);
}

TEST(WrapTorchNn, ConvertsAndLoads) {
  const auto from = Wrapped(), to = Wrapped();
  ASSERT_TRUE(LoadStateDict(*to, from->StateDict(), /*strict=*/true).ok());
  from->To(at::kDouble);
  to->To(at::kDouble);
  const at::Tensor x = at::randn({5, 4}, at::kDouble);
  EXPECT_TRUE(from->Run(x).equal(to->Run(x)));
}

TEST(WrapTorchNn, RefusesSurgeryInItsInside) {
  const auto model = Sequential(Wrapped());
  EXPECT_EQ(std::string(model->Replace("0.bn", Identity()).status().message()),
            "cannot replace \"0.bn\": \"0\" is a " + model->Find("0")->kind() +
                ", whose parts are fixed; replace \"0\" as a whole");
  EXPECT_NE(model->Find("0")->kind().find("ForeignImpl"), std::string::npos);
  EXPECT_TRUE(model->Replace("0", Identity()).ok());
}

}  // namespace
}  // namespace slipway::nn
