#include "trainer/nn/layers/layer.h"

#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

TEST(OptionsOf, ReturnsWhatALayerWasMadeFrom) {
  const auto norm = BatchNorm2d({.features = 8, .eps = 0.25});
  const BatchNormOptions* options = OptionsOf<BatchNormOptions>(*norm);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->features, 8);
  EXPECT_EQ(options->eps, 0.25);
}

TEST(OptionsOf, IsNullForOtherLayers) {
  EXPECT_EQ(OptionsOf<Conv2dOptions>(*BatchNorm2d(8)), nullptr);
  EXPECT_EQ(OptionsOf<Conv2dOptions>(*Identity()), nullptr);
}

TEST(Pair, TakesOneNumberForBoth) {
  const Conv2dOptions options = {.kernel = 3, .stride = {1, 2}};
  EXPECT_EQ(options.kernel.array(), at::IntArrayRef({3, 3}));
  EXPECT_EQ(options.stride.array(), at::IntArrayRef({1, 2}));
  EXPECT_FALSE(options.kernel == options.stride);
}

TEST(ConvDeathTest, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_DEATH(Conv2d({.in = 4, .out = 6, .groups = 4}),
               "4 groups do not divide 4 and 6 channels");
}

}  // namespace
}  // namespace slipway::nn
