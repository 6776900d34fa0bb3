#include "plugins/vision_classification/models/efficientnet.h"

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::vision_classification {
namespace {

at::Tensor Evaluate(nn::Module& model, const at::Tensor& images) {
  const c10::AutoGradMode no_grad(false);
  model.Train(false);
  return model.Run(images);
}

TEST(EfficientNet, HasTheKnownNumbersOfParameters) {
  const struct {
    double width, depth;
    int64_t parameters;
  } cases[] = {
      {1.0, 1.0, 5'288'548},  {1.0, 1.1, 7'794'184},  {1.1, 1.2, 9'109'994},
      {1.2, 1.4, 12'233'232}, {1.4, 1.8, 19'341'616}, {1.6, 2.2, 30'389'784},
      {1.8, 2.6, 43'040'704}, {2.0, 3.1, 66'347'960},
  };
  for (const auto& c : cases) {
    const auto model = EfficientNet({.width = c.width, .depth = c.depth});
    EXPECT_EQ(nn::CountParameters(*model), c.parameters) << c.width;
  }
}

TEST(EfficientNet, PadsUnevenlyWhereASizeIsEven) {
  const auto padding = [](int64_t size) {
    const auto model = EfficientNet({.image_size = size});
    return nn::OptionsOf<nn::Conv2dOptions>(*model->Find("_conv_stem"))
        ->padding;
  };
  EXPECT_EQ(padding(225), nn::Pair(1));
  EXPECT_EQ(padding(224), nn::Pair(0));  // by the block itself
  const auto model = EfficientNet({.image_size = 224, .head = false});
  EXPECT_EQ(Evaluate(*model, at::ones({1, 3, 64, 64})).sizes(),
            at::IntArrayRef({1, 1280, 2, 2}));
}

TEST(EfficientNet, DropsLaterBlocksMoreOften) {
  const auto model = EfficientNet({});
  const auto probability = [&](const char* path) {
    return nn::OptionsOf<nn::DropPathOptions>(*model->Find(path))->probability;
  };
  EXPECT_EQ(probability("_blocks.0._drop_path"), 0);
  EXPECT_DOUBLE_EQ(probability("_blocks.8._drop_path"), 0.2 * 8 / 16);
  EXPECT_DOUBLE_EQ(probability("_blocks.15._drop_path"), 0.2 * 15 / 16);
  at::manual_seed(5);
  const at::Tensor images = at::randn({4, 3, 64, 64});
  EXPECT_FALSE(model->Run(images).equal(model->Run(images)));
  EXPECT_TRUE(Evaluate(*model, images).equal(Evaluate(*model, images)));
}

TEST(EfficientNet, NormalisesAsItsOptionsSay) {
  const auto model = EfficientNet({.norm_momentum = 0.25, .norm_eps = 1e-4});
  for (const char* path : {"_bn0", "_blocks.3._bn1", "_bn1"}) {
    const auto* norm = nn::OptionsOf<nn::BatchNormOptions>(*model->Find(path));
    ASSERT_NE(norm, nullptr) << path;
    EXPECT_EQ(norm->eps, 1e-4);
    EXPECT_EQ(norm->momentum, 0.25);
  }
}

}  // namespace
}  // namespace slipway::vision_classification
