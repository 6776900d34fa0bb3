// The classification models by the names that recipes use.
//
//   for (const std::string& name : ModelNames()) {
//     components.models.Add(name, [name](const BuildArgs& args) {
//       return MakeModel(name, args.params, args.problems);
//     });
//   }
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MODELS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MODELS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::vision_classification {

// resnet18, resnet34, resnet50, resnet50_3343, resnet101, resnet152,
// resnet18_cifar, and custom_resnet, custom_resnet50, custom_resnet_cifar,
// custom_resnet50_cifar, which take their depth and width from the recipe.
std::vector<std::string> ModelNames();

// Builds the model `name` (one of ModelNames(), CHECKed) from a recipe's
// `arch_params`. Null if and only if it appended an error.
//
//   num_classes      classes; required unless backbone_mode
//   in_channels      of the images; 3
//   droppath_prob    of dropping a block's branch in training; 0
//   backbone_mode    true: no head, features come out; false
//   structure        custom_*: blocks in each of the four layers; required
//   width_mult       custom_*: factor of all channels; required
//
// droppath_prob and backbone_mode are not for the CIFAR networks.
std::unique_ptr<nn::Module> MakeModel(std::string_view name,
                                      const recipe::Node& arch_params,
                                      Problems& problems);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MODELS_H_
