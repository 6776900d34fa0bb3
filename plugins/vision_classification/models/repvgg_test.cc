#include "plugins/vision_classification/models/repvgg.h"

#include <string>

#include "ATen/Context.h"
#include "ATen/ops/allclose.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"

namespace slipway::vision_classification {
namespace {

RepVggOptions Small(bool squeeze) {
  return {.blocks = {2, 1, 2, 1},
          .width = {0.25, 0.25, 0.125, 0.125},
          .classes = 5,
          .squeeze = squeeze};
}

// A model whose running statistics are no longer those of the start.
std::unique_ptr<nn::Module> Trained(bool squeeze, const at::Tensor& images) {
  const c10::AutoGradMode no_grad(false);
  auto model = RepVgg(Small(squeeze));
  for (const auto& [name, parameter] : model->NamedParameters()) {
    if (name.find("bn.") == std::string::npos) continue;
    parameter.add_(at::randn(parameter.sizes()), 0.3);
  }
  for (int i = 0; i < 3; ++i) model->Run(images);
  return model;
}

TEST(RepVgg, ComputesTheSameWhenFused) {
  const c10::AutoGradMode no_grad(false);
  for (bool squeeze : {false, true}) {
    at::manual_seed(6);
    const at::Tensor images = at::randn({3, 3, 64, 64});
    const auto model = Trained(squeeze, images);
    model->Train(false);
    const at::Tensor before = model->Run(images);
    const int64_t parameters = nn::CountParameters(*model);
    FuseRepVgg(*model);
    EXPECT_TRUE(at::allclose(model->Run(images), before, 1e-4, 1e-5));
    EXPECT_LT(nn::CountParameters(*model), parameters);
    EXPECT_EQ(model->Find("stage1.0.branch_3x3"), nullptr);
    const auto* conv =
        nn::OptionsOf<nn::Conv2dOptions>(*model->Find("stage1.0.rbr_reparam"));
    ASSERT_NE(conv, nullptr);
    EXPECT_EQ(conv->stride, nn::Pair(2));
  }
}

TEST(RepVgg, SaysThatAFusedNetworkCannotBeTrained) {
  const auto model = RepVgg(Small(false));
  model->Train(false);
  FuseRepVgg(*model);
  model->Train();
  try {
    model->Run(at::ones({2, 3, 64, 64}));
    FAIL() << "a fused network was trained";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("build_residual_branches: True"),
              std::string::npos)
        << error.what();
  }
}

TEST(RepVgg, AddsItsInputOnlyWhereShapesAgree) {
  const auto model = RepVgg(Small(false));
  EXPECT_EQ(model->Find("stem.no_conv_branch"), nullptr);
  EXPECT_EQ(model->Find("stage1.0.no_conv_branch"), nullptr);
  EXPECT_NE(model->Find("stage1.1.no_conv_branch"), nullptr);
}

TEST(RepVgg, GivesFeaturesWithoutAHead) {
  const c10::AutoGradMode no_grad(false);
  RepVggOptions options = Small(true);
  options.head = false;
  EXPECT_EQ(RepVgg(options)->Run(at::ones({2, 3, 65, 64})).sizes(),
            at::IntArrayRef({2, 64, 3, 2}));
}

}  // namespace
}  // namespace slipway::vision_classification
