#include "plugins/vision_classification/models/densenet.h"

#include <cmath>

#include "ATen/Context.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

DenseNetOptions Small() {
  return {.blocks = {2, 3}, .growth = 8, .first = 16, .classes = 5};
}

TEST(DenseNet, GivesLogits) {
  const c10::AutoGradMode no_grad(false);
  EXPECT_EQ(DenseNet(Small())->Run(at::randn({2, 3, 40, 33})).sizes(),
            at::IntArrayRef({2, 5}));
}

TEST(DenseNet, StartsAsSuperGradientsDoes) {
  at::manual_seed(3);
  const auto model = DenseNet({.blocks = {1}});
  for (const auto& [name, parameter] : model->NamedParameters()) {
    if (name == "features.denseblock1.denselayer1.conv2.weight") {
      EXPECT_NEAR(parameter.std().item<double>(), std::sqrt(2.0 / (9 * 128)),
                  4e-4);
    } else if (name == "classifier.bias") {
      EXPECT_EQ(parameter.abs().sum().item<double>(), 0);
    }
  }
}

TEST(DenseNet, DropsFeaturesOnlyWhileTraining) {
  at::manual_seed(4);
  DenseNetOptions options = Small();
  options.dropout = 0.5;
  const auto model = DenseNet(options);
  const at::Tensor images = at::randn({2, 3, 32, 32});
  EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
  model->Train(false);
  EXPECT_TRUE(model->Run(images).equal(model->Run(images)));
}

}  // namespace
}  // namespace slipway::vision_classification
