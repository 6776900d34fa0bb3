#include "plugins/vision_classification/models/mobilenet.h"

#include <cmath>

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/dropout.h"

namespace slipway::vision_classification {
namespace {

at::Tensor Evaluate(nn::Module& model, const at::Tensor& images) {
  const c10::AutoGradMode no_grad(false);
  model.Train(false);
  return model.Run(images);
}

at::Tensor Parameter(const nn::Module& model, std::string_view name) {
  for (const auto& [known, tensor] : model.NamedParameters()) {
    if (known == name) return tensor;
  }
  return {};
}

// The standard deviation of a parameter.
double Spread(const nn::Module& model, std::string_view name) {
  return Parameter(model, name).std().item<double>();
}

TEST(MobileNetV2, ScalesItsChannelsUpToMultiplesOfEight) {
  const auto model = MobileNetV2({.width = 1.35, .classes = 7});
  // 24 * 1.35 = 32.4; the first stage does not expand and stays.
  EXPECT_EQ(Parameter(*model, "features.1.conv.3.weight").size(0), 16);
  EXPECT_EQ(Parameter(*model, "features.2.conv.6.weight").size(0), 40);
  EXPECT_EQ(Parameter(*model, "classifier.1.weight").sizes(),
            at::IntArrayRef({7, 1728}));
}

TEST(MobileNetV2, KeepsItsLastChannelsWhenNarrow) {
  const auto model = MobileNetV2({.width = 0.5, .classes = 7});
  EXPECT_EQ(Parameter(*model, "classifier.1.weight").size(1), 1280);
}

TEST(MobileNetV2, StartsAsSuperGradientsDoes) {
  at::manual_seed(3);
  const auto model = MobileNetV2({});
  EXPECT_NEAR(Spread(*model, "features.0.0.weight"), std::sqrt(2.0 / (9 * 32)),
              0.006);
  // Grouped: the area times all channels that come out.
  EXPECT_NEAR(Spread(*model, "features.17.conv.3.weight"),
              std::sqrt(2.0 / (9 * 960)), 5e-4);
  EXPECT_NEAR(Spread(*model, "features.18.0.weight"), std::sqrt(2.0 / 1280),
              3e-4);
  EXPECT_NEAR(Spread(*model, "classifier.1.weight"), 0.01, 1e-4);
  EXPECT_EQ(Parameter(*model, "classifier.1.bias").abs().sum().item<double>(),
            0);
}

TEST(MobileNetV3, StartsAsSuperGradientsDoes) {
  at::manual_seed(3);
  const auto model = MobileNetV3({});
  EXPECT_NEAR(Spread(*model, "features.15.conv.3.weight"),
              std::sqrt(2.0 / (25 * 960)), 3e-4);
  EXPECT_NEAR(Spread(*model, "features.15.conv.5.fc.0.weight"), 0.01, 1e-4);
  EXPECT_EQ(Parameter(*model, "features.15.conv.5.fc.2.bias")
                .abs()
                .sum()
                .item<double>(),
            0);
}

TEST(MobileNetV3, GivesLogitsForImagesOfAnySize) {
  const auto model = MobileNetV3({.blocks = MobileNetV3Small(),
                                  .hidden = 1024,
                                  .width = 0.5,
                                  .classes = 5,
                                  .in_channels = 1});
  for (int64_t size : {1, 33, 64}) {
    const at::Tensor logits = Evaluate(*model, at::ones({2, 1, size, size}));
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 5}));
  }
}

TEST(MobileNetV3, DropsFeaturesOnlyWhileTraining) {
  at::manual_seed(4);
  const auto model = MobileNetV3({.blocks = MobileNetV3Small(), .hidden = 64});
  const auto* dropout =
      nn::OptionsOf<nn::DropoutOptions>(*model->Find("classifier.2"));
  ASSERT_NE(dropout, nullptr);
  EXPECT_EQ(dropout->probability, 0.2);
  const at::Tensor images = at::randn({4, 3, 64, 64});
  EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
  EXPECT_TRUE(Evaluate(*model, images).equal(Evaluate(*model, images)));
}

}  // namespace
}  // namespace slipway::vision_classification
