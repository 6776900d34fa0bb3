#include "plugins/vision_classification/models/resnext.h"

#include "ATen/ops/ones.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"

namespace slipway::vision_classification {
namespace {

TEST(ResNeXt, DoublesItsGroupsFromLayerToLayer) {
  const auto model = ResNeXt(
      {.blocks = {1, 2, 1, 1}, .groups = 4, .group_width = 2, .classes = 5});
  const auto conv = [&](const char* path) {
    return *nn::OptionsOf<nn::Conv2dOptions>(*model->Find(path));
  };
  EXPECT_EQ(conv("layer1.0.conv2").out, 8);
  EXPECT_EQ(conv("layer4.0.conv2").out, 64);
  EXPECT_EQ(conv("layer4.0.conv2").groups, 4);
  EXPECT_EQ(conv("layer1.0.conv2").stride, nn::Pair(1));
  EXPECT_EQ(conv("layer2.0.conv2").stride, nn::Pair(2));
  EXPECT_EQ(conv("layer2.1.conv2").stride, nn::Pair(1));
  EXPECT_EQ(model->Find("layer2.1.downsample"), nullptr);
  const c10::AutoGradMode no_grad(false);
  EXPECT_EQ(model->Run(at::ones({2, 3, 70, 64})).sizes(),
            at::IntArrayRef({2, 5}));
}

}  // namespace
}  // namespace slipway::vision_classification
