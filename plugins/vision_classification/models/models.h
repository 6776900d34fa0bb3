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

// The architectures of all families: ResNetArchitectures() and its like in the
// families' headers, by SuperGradients' names.
std::vector<std::string> ModelNames();

// Builds the model `name` (one of ModelNames(), CHECKed) from a recipe's
// `arch_params`. Null if and only if it appended an error.
//
// All take num_classes (required unless backbone_mode) and in_channels (3).
//
// resnet*, custom_resnet*:
//   droppath_prob    of dropping a block's branch in training; 0
//   backbone_mode    true: no head, features come out; false
//   structure        custom_*: blocks in each of the four layers; required
//   width_mult       custom_*: factor of all channels; required
// droppath_prob and backbone_mode are not for the CIFAR networks.
//
// mobilenet_v2, mobile_net_v2_135, custom_mobilenet_v2:
//   dropout          before the last layer; 0
//   structure        custom_*: rows [expansion, channels, blocks, stride];
//   those
//                    of MobileNetV2
//   width_mult       custom_*: factor of channels; required
// mobilenet_v3_large, mobilenet_v3_small, mobilenet_v3_custom:
//   dropout          before the last layer; 0.2
//   width_mult       factor of channels; 1 (required by mobilenet_v3_custom)
//   structure, mode  mobilenet_v3_custom: rows [kernel, expansion, channels,
//                    squeeze, h-swish, stride], and "large" or "small"
//
// efficientnet_b0 to _b8, efficientnet_l2, CustomizedEfficientnet:
//   width_coefficient, depth_coefficient, dropout_rate, image_size
//                    the name's; CustomizedEfficientnet needs them (the size
//                    also as "res")
//   drop_connect_rate    of dropping the last block's branch; 0.2
//   batch_norm_momentum  the share of old running statistics; 0.99
//   batch_norm_epsilon   0.001
//   depth_divisor, min_depth  of all channels; 8, and as large as that
//   backbone_mode    true: no head, features come out; false
//
// regnetY200 to _800, custom_regnet, custom_anynet, nas_regnet:
//   dropout_prob     before the last layer; 0
//   droppath_prob, backbone_mode  as above
//   custom_regnet: initial_width, slope, quantized_param, network_depth,
//   bottleneck_ratio, group_width, stride (required), se_ratio (0: none)
//   custom_anynet: ls_num_blocks, ls_block_width, ls_bottleneck_ratio,
//   ls_group_width (lists, a value a stage), stride (required), se_ratio
//   nas_regnet: structure, the eight of custom_regnet in one list
//   (custom_regnet and custom_anynet say input_channels for in_channels.)
//
// repvgg_a0 to _a2, _b0 to _b3, repvgg_d2se, repvgg_custom:
//   build_residual_branches  false: fused, for evaluation only; true
//   use_se           squeeze and excitation; false
//   backbone_mode    as above
//   struct, width_multiplier  repvgg_custom: blocks and factors of channels of
//                    the four stages; required
//
// vit_base, vit_large, vit_huge:
//   image_size, patch_size  [height, width]; 224 and 16
//   dropout_prob, emb_dropout_prob  0
//
// densenet*: custom_densenet: growth_rate (32), num_init_features (64), bn_size
//   (4), drop_rate (0), structure ([6, 12, 24, 16])
// resnext50, resnext101: nothing more
// shufflenet_v2_*: shufflenet_v2_custom5: structure (three numbers of blocks)
//   and stages_out_channels (five); required
//
// What SuperGradients passes over because the name decides it (a structure for
// mobilenet_v3_small) may be given if it says the same; else it is an error.
std::unique_ptr<nn::Module> MakeModel(std::string_view name,
                                      const recipe::Node& arch_params,
                                      Problems& problems);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_MODELS_H_
