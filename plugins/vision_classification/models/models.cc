#include "plugins/vision_classification/models/models.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "plugins/vision_classification/models/resnet.h"
#include "trainer/recipe/params.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::vision_classification {
namespace {

// A zero depth is one that the recipe gives.
constexpr std::array<int64_t, 4> kFromRecipe = {};

struct Architecture {
  std::string_view name;
  ResNetBlock block;
  ResNetStem stem;
  std::array<int64_t, 4> blocks;
};

constexpr auto kBasic = ResNetBlock::kBasic;
constexpr auto kBottleneck = ResNetBlock::kBottleneck;
constexpr auto kImageNet = ResNetStem::kImageNet;
constexpr auto kCifar = ResNetStem::kCifar;

constexpr Architecture kArchitectures[] = {
    {"resnet18", kBasic, kImageNet, {2, 2, 2, 2}},
    {"resnet34", kBasic, kImageNet, {3, 4, 6, 3}},
    {"resnet50", kBottleneck, kImageNet, {3, 4, 6, 3}},
    {"resnet50_3343", kBottleneck, kImageNet, {3, 3, 4, 3}},
    {"resnet101", kBottleneck, kImageNet, {3, 4, 23, 3}},
    {"resnet152", kBottleneck, kImageNet, {3, 8, 36, 3}},
    {"resnet18_cifar", kBasic, kCifar, {2, 2, 2, 2}},
    {"custom_resnet", kBasic, kImageNet, kFromRecipe},
    {"custom_resnet50", kBottleneck, kImageNet, kFromRecipe},
    {"custom_resnet_cifar", kBasic, kCifar, kFromRecipe},
    {"custom_resnet50_cifar", kBottleneck, kCifar, kFromRecipe},
};

void ReadCustom(recipe::Params& params, ResNetOptions& options) {
  constexpr int64_t kLongest = 1000;
  const std::vector<int64_t> structure = params.Ints("structure", 4);
  if (structure.size() == 4) {
    std::copy(structure.begin(), structure.end(), options.blocks.begin());
  }
  for (int64_t blocks : structure) {
    if (blocks >= 0 && blocks <= kLongest) continue;
    params.Fail("structure", "the number of blocks " + std::to_string(blocks) +
                                 " is not between 0 and 1000");
  }
  options.width = params.Double("width_mult", {.min = 1.0 / 64, .max = 16});
}

ResNetOptions ReadOptions(const Architecture& architecture,
                          recipe::Params& params) {
  ResNetOptions options = {.block = architecture.block,
                           .stem = architecture.stem,
                           .blocks = architecture.blocks};
  if (options.blocks == kFromRecipe) ReadCustom(params, options);
  if (options.stem == ResNetStem::kImageNet) {
    options.drop_path =
        params.Double("droppath_prob", {.fallback = 0, .min = 0, .max = 1});
    options.head = !params.Bool("backbone_mode", false);
  }
  recipe::IntRule classes = {.min = 1, .max = 1'000'000};
  if (!options.head) classes.fallback = 1;
  options.classes = params.Int("num_classes", classes);
  options.in_channels =
      params.Int("in_channels", {.fallback = 3, .min = 1, .max = 10'000});
  return options;
}

}  // namespace

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) {
    names.emplace_back(architecture.name);
  }
  return names;
}

std::unique_ptr<nn::Module> MakeModel(std::string_view name,
                                      const recipe::Node& arch_params,
                                      Problems& problems) {
  const auto* architecture =
      std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                   [&](const Architecture& a) { return a.name == name; });
  CHECK(architecture != std::end(kArchitectures)) << "no model " << name;
  Problems found;
  recipe::Params params(arch_params, "model " + std::string(name), found);
  const ResNetOptions options = ReadOptions(*architecture, params);
  params.Finish();
  const bool failed = HasErrors(found);
  std::move(found.begin(), found.end(), std::back_inserter(problems));
  return failed ? nullptr : ResNet(options);
}

}  // namespace slipway::vision_classification
