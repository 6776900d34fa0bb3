// The models beside SuperGradients' own.
#include "tests/parity/parity.h"

#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/models/efficientnet.h"
#include "plugins/vision_classification/models/mobilenet.h"
#include "plugins/vision_classification/models/regnet.h"
#include "plugins/vision_classification/models/repvgg.h"
#include "plugins/vision_classification/models/resnet.h"
#include "plugins/vision_classification/models/vit.h"

namespace slipway::vision_classification {
namespace {

constexpr char kFigures[] =
    "plugins/vision_classification/models/testdata/parity.json";

// What the recipes of some models have as smooth_eps.
constexpr double kSmoothing = 0.1;

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

TEST(MobileNetParity, EqualsSuperGradientsMobileNetV2) {
  const auto model = MobileNetV2({});
  parity::ExpectClassifier(
      *model, parity::Read(kFigures)["imagenet_mobilenetv2"], {2, 3, 64, 64});
}

TEST(MobileNetParity, EqualsSuperGradientsMobileNetV3Large) {
  const auto model = MobileNetV3({.dropout = 0});
  parity::ExpectClassifier(
      *model, parity::Read(kFigures)["imagenet_mobilenetv3_large"],
      {2, 3, 64, 64}, {.smoothing = kSmoothing, .moves = 8});
}

TEST(EfficientNetParity, EqualsSuperGradientsB0) {
  const auto model = EfficientNet({.dropout = 0, .drop_path = 0});
  parity::ExpectClassifier(*model,
                           parity::Read(kFigures)["imagenet_efficientnet"],
                           {2, 3, 64, 64}, {.smoothing = kSmoothing});
}

TEST(RegNetParity, EqualsSuperGradientsY800) {
  const auto model = RegNet({.stages = RegNetStages({.initial_width = 56,
                                                     .slope = 39,
                                                     .quantum = 2.4,
                                                     .depth = 14,
                                                     .group_width = 16}),
                             .group_width = 16,
                             .squeeze = 4});
  parity::ExpectClassifier(*model, parity::Read(kFigures)["imagenet_regnetY"],
                           {2, 3, 64, 64}, {.smoothing = kSmoothing});
}

TEST(RepVggParity, EqualsSuperGradientsA0) {
  const auto model = RepVgg({});
  parity::ExpectClassifier(*model, parity::Read(kFigures)["imagenet_repvgg"],
                           {2, 3, 64, 64});
}

TEST(RepVggParity, EqualsSuperGradientsA0WhenFused) {
  const parity::Json entry = parity::Read(kFigures)["imagenet_repvgg"];
  const c10::AutoGradMode no_grad(false);
  const auto model = RepVgg({});
  parity::FillByFormula(*model);
  model->Train(false);
  FuseRepVgg(*model);
  parity::ExpectTensor(model->Run(parity::Images({2, 3, 64, 64})),
                       entry["eval"]["out"]);
}

TEST(ViTParity, EqualsSuperGradientsBase) {
  const auto model = ViT({});
  parity::ExpectClassifier(*model, parity::Read(kFigures)["imagenet_vit_base"],
                           {1, 3, 224, 224});
}

}  // namespace
}  // namespace slipway::vision_classification
