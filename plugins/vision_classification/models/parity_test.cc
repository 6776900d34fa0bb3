// The residual networks beside SuperGradients' own.
#include "tests/parity/parity.h"

#include "gtest/gtest.h"
#include "plugins/vision_classification/models/resnet.h"

namespace slipway::vision_classification {
namespace {

constexpr char kFigures[] =
    "plugins/vision_classification/models/testdata/parity.json";

const auto* const kKernels =
    ::testing::AddGlobalTestEnvironment(new parity::Environment);

TEST(ResNetParity, EqualsSuperGradientsResNet18Cifar) {
  const auto model = ResNet({.stem = ResNetStem::kCifar});
  parity::ExpectClassifier(*model, parity::Read(kFigures)["cifar10_resnet"],
                           {2, 3, 32, 32});
}

TEST(ResNetParity, EqualsSuperGradientsResNet50) {
  const auto model = ResNet({.block = ResNetBlock::kBottleneck,
                             .blocks = {3, 4, 6, 3},
                             .classes = 1000});
  parity::ExpectClassifier(*model, parity::Read(kFigures)["imagenet_resnet50"],
                           {2, 3, 64, 64});
}

}  // namespace
}  // namespace slipway::vision_classification
