#include "plugins/vision_classification/models/regnet.h"

#include <cmath>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

at::Tensor Parameter(const nn::Module& model, std::string_view name) {
  for (const auto& [known, tensor] : model.NamedParameters()) {
    if (known == name) return tensor;
  }
  return {};
}

TEST(RegNetStages, FollowTheDesignSpace) {
  // The stages of RegNetY-200MF to -800MF as SuperGradients builds them.
  const struct {
    RegNetSpace space;
    std::vector<RegNetStage> stages;
  } cases[] = {
      {{24, 36, 2.5, 13, 1, 8}, {{1, 24}, {1, 64}, {4, 152}, {7, 376}}},
      {{48, 28, 2.1, 16, 1, 8}, {{1, 48}, {3, 104}, {6, 208}, {6, 448}}},
      {{48, 33, 2.3, 15, 1, 16}, {{1, 48}, {3, 112}, {7, 256}, {4, 576}}},
      {{56, 39, 2.4, 14, 1, 16}, {{1, 64}, {3, 128}, {8, 320}, {2, 768}}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(RegNetStages(c.space), c.stages) << c.space.initial_width;
  }
}

RegNetOptions Small() {
  return {.stages = {{2, 16}, {1, 32}}, .squeeze = 4, .classes = 5};
}

TEST(RegNet, GivesLogitsOrFeatures) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor images = at::ones({2, 3, 33, 40});
  RegNetOptions options = Small();
  EXPECT_EQ(RegNet(options)->Run(images).sizes(), at::IntArrayRef({2, 5}));
  options.head = false;
  const auto model = RegNet(options);
  EXPECT_EQ(model->Run(images).sizes(), at::IntArrayRef({2, 32, 5, 5}));
  EXPECT_EQ(model->Find("net.head"), nullptr);
}

TEST(RegNet, HasNoSqueezeAsRegNetX) {
  RegNetOptions options = Small();
  EXPECT_EQ(
      Parameter(*RegNet(options), "net.stage_0.blocks.block_1.se.1.weight")
          .sizes(),
      at::IntArrayRef({4, 16, 1, 1}));
  options.squeeze = 0;
  EXPECT_EQ(RegNet(options)->Find("net.stage_0.blocks.block_1.se"), nullptr);
}

TEST(RegNet, StartsAsSuperGradientsDoes) {
  at::manual_seed(3);
  const auto model = RegNet({.stages = {{1, 320}}, .group_width = 16});
  const at::Tensor grouped =
      Parameter(*model, "net.stage_0.blocks.block_0.conv_block_2.0.weight");
  EXPECT_NEAR(grouped.std().item<double>(), std::sqrt(2.0 / (9 * 320)), 4e-4);
  const at::Tensor last = Parameter(*model, "net.head.fc.weight");
  EXPECT_NEAR(last.std().item<double>(), 0.01, 1e-4);
}

TEST(RegNet, DropsBranchesOnlyWhileTraining) {
  at::manual_seed(4);
  RegNetOptions options = Small();
  options.drop_path = 0.5;
  const auto model = RegNet(options);
  const at::Tensor images = at::randn({4, 3, 32, 32});
  EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
  model->Train(false);
  EXPECT_TRUE(model->Run(images).equal(model->Run(images)));
}

}  // namespace
}  // namespace slipway::vision_classification
