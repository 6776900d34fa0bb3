#include "plugins/vision_classification/models/vit.h"

#include "ATen/Context.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

ViTOptions Small() {
  return {.image_size = 32,
          .patch_size = 8,
          .dimension = 24,
          .depth = 2,
          .heads = 3,
          .hidden = 48,
          .classes = 5};
}

TEST(ViT, GivesLogitsForImagesUpToItsSize) {
  const c10::AutoGradMode no_grad(false);
  const auto model = ViT(Small());
  for (int64_t size : {8, 24, 32}) {
    EXPECT_EQ(model->Run(at::randn({3, 3, size, size})).sizes(),
              at::IntArrayRef({3, 5}));
  }
}

TEST(ViT, KnowsWhereAPatchIs) {
  const c10::AutoGradMode no_grad(false);
  at::manual_seed(7);
  const auto model = ViT(Small());
  const at::Tensor images = at::randn({1, 3, 32, 32});
  EXPECT_FALSE(
      model->Run(images).allclose(model->Run(images.flip({3})), 1e-3, 1e-3));
}

TEST(ViT, StartsItsTokensStandardNormal) {
  at::manual_seed(3);
  ViTOptions options = Small();
  options.dimension = 240;
  const auto model = ViT(options);
  const auto parameters = model->NamedParameters();
  EXPECT_EQ(parameters[0].first, "cls_token");
  EXPECT_NEAR(parameters[0].second.std().item<double>(), 1, 0.2);
  EXPECT_EQ(parameters[1].first, "pos_embedding");
  EXPECT_NEAR(parameters[1].second.std().item<double>(), 1, 0.05);
}

TEST(ViT, DropsOnlyWhileTraining) {
  at::manual_seed(4);
  for (bool embedding : {false, true}) {
    ViTOptions options = Small();
    (embedding ? options.embedding_dropout : options.dropout) = 0.5;
    const auto model = ViT(options);
    const at::Tensor images = at::randn({2, 3, 32, 32});
    EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
    model->Train(false);
    EXPECT_TRUE(model->Run(images).equal(model->Run(images)));
  }
}

TEST(ViT, TrainsEveryParameter) {
  const auto model = ViT(Small());
  model->Run(at::randn({2, 3, 32, 32})).sum().backward();
  for (const auto& [name, parameter] : model->NamedParameters()) {
    EXPECT_TRUE(parameter.grad().defined()) << name;
  }
}

}  // namespace
}  // namespace slipway::vision_classification
