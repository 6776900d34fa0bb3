#include "plugins/vision_classification/models/shufflenet.h"

#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

ShuffleNetV2Options Small() {
  return {.blocks = {1, 2, 1}, .channels = {8, 8, 16, 16, 32}, .classes = 5};
}

TEST(ShuffleNetV2, GivesLogits) {
  const c10::AutoGradMode no_grad(false);
  EXPECT_EQ(ShuffleNetV2(Small())->Run(at::ones({2, 3, 40, 64})).sizes(),
            at::IntArrayRef({2, 5}));
}

TEST(ShuffleNetV2, MixesItsHalvesChannelByChannel) {
  const c10::AutoGradMode no_grad(false);
  const auto model = ShuffleNetV2(Small());
  // The second block of layer3 passes half of its channels on as they are:
  // they come out as every other channel.
  const at::Tensor x = at::randn({2, 16, 3, 3});
  const at::Tensor out = model->Find("layer3.1")->Run(x);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(out.select(1, 2 * i).equal(x.select(1, i))) << i;
  }
}

TEST(ShuffleNetV2, TrainsEveryParameter) {
  const auto model = ShuffleNetV2(Small());
  model->Run(at::randn({2, 3, 64, 64})).sum().backward();
  for (const auto& [name, parameter] : model->NamedParameters()) {
    EXPECT_TRUE(parameter.grad().defined()) << name;
  }
}

}  // namespace
}  // namespace slipway::vision_classification
