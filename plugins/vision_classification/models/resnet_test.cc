#include "plugins/vision_classification/models/resnet.h"

#include <array>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::vision_classification {
namespace {

at::Tensor Evaluate(nn::Module& model, const at::Tensor& images) {
  const c10::AutoGradMode no_grad(false);
  model.Train(false);
  return model.Run(images);
}

TEST(ResNet, HasTheKnownNumbersOfParameters) {
  // With 1000 classes and 3 channels, as in the paper's reference networks.
  const struct {
    ResNetBlock block;
    std::array<int64_t, 4> blocks;
    int64_t parameters;
  } cases[] = {
      {ResNetBlock::kBasic, {2, 2, 2, 2}, 11'689'512},
      {ResNetBlock::kBasic, {3, 4, 6, 3}, 21'797'672},
      {ResNetBlock::kBottleneck, {3, 4, 6, 3}, 25'557'032},
      {ResNetBlock::kBottleneck, {3, 4, 23, 3}, 44'549'160},
      {ResNetBlock::kBottleneck, {3, 8, 36, 3}, 60'192'808},
  };
  for (const auto& c : cases) {
    const auto model =
        ResNet({.block = c.block, .blocks = c.blocks, .classes = 1000});
    EXPECT_EQ(nn::CountParameters(*model), c.parameters);
  }
}

TEST(ResNet, GivesLogitsOrFeatures) {
  const at::Tensor images = at::ones({2, 1, 40, 40});
  const struct {
    ResNetOptions options;
    std::vector<int64_t> shape;
  } cases[] = {
      {{.in_channels = 1, .width = 0.25}, {2, 10}},
      {{.in_channels = 1, .width = 0.25, .head = false}, {2, 128, 2, 2}},
      {{.block = ResNetBlock::kBottleneck,
        .stem = ResNetStem::kCifar,
        .in_channels = 1,
        .width = 0.125,
        .head = false},
       {2, 256, 5, 5}},
  };
  for (const auto& c : cases) {
    const auto model = ResNet(c.options);
    EXPECT_EQ(Evaluate(*model, images).sizes().vec(), c.shape);
  }
}

TEST(ResNet, ReplacesALayerWithoutBlocksByOneConvolution) {
  for (const ResNetBlock block :
       {ResNetBlock::kBasic, ResNetBlock::kBottleneck}) {
    const auto model = ResNet({.block = block,
                               .stem = ResNetStem::kCifar,
                               .blocks = {0, 1, 0, 0},
                               .width = 0.125});
    EXPECT_TRUE(model->Find("layer1")->Children().empty());
    EXPECT_EQ(model->Find("layer3.0")->kind(), "Sequential");
    EXPECT_EQ(model->Find("layer4.0.0")->kind(), "Conv2d");
    EXPECT_EQ(Evaluate(*model, at::ones({2, 3, 8, 8})).size(1), 10);
  }
}

TEST(ResNet, DropsBranchesOnlyWhileTraining) {
  at::manual_seed(4);
  const auto model = ResNet({.width = 0.125, .drop_path = 0.5});
  const auto* options =
      nn::OptionsOf<nn::DropPathOptions>(*model->Find("layer4.1.drop_path"));
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->probability, 0.5);
  const at::Tensor images = at::randn({4, 3, 32, 32});
  EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
  EXPECT_TRUE(Evaluate(*model, images).equal(Evaluate(*model, images)));
}

TEST(ResNet, RunsWhatReplacesALayer) {
  at::manual_seed(4);
  const auto model = ResNet({.width = 0.125});
  const at::Tensor images = at::randn({4, 3, 32, 32});
  const at::Tensor before = Evaluate(*model, images);
  ASSERT_TRUE(model->Replace("layer2.0.bn1", nn::Identity()).ok());
  EXPECT_FALSE(Evaluate(*model, images).equal(before));
  for (const auto& [name, parameter] : model->NamedParameters()) {
    EXPECT_FALSE(name.starts_with("layer2.0.bn1")) << name;
  }
}

}  // namespace
}  // namespace slipway::vision_classification
