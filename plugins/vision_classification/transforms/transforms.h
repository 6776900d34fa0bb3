// Transforms of images, with the names and parameters that torchvision and
// SuperGradients give them.
//
//   transforms:
//     - RandomCrop: {size: 32, padding: 4}
//     - RandomHorizontalFlip
//     - ToTensor
//     - Normalize: {mean: [0.49, 0.48, 0.45], std: [0.20, 0.20, 0.20]}
//
//   name                  parameters (default)
//   CenterCrop            size
//   ColorJitter           brightness, contrast, saturation, hue (0): x, or
//   [from,
//                         to]
//   Lighting              alphastd
//   Normalize             mean, std: a number for each channel, or one for all
//   Pad                   padding, fill (0), padding_mode (constant)
//   RandAugmentTransform  config_str ("rand-m9-n2-mstd0.5-w0-inc1"), crop_size,
//                         img_mean
//   RandomCrop            size, padding (0), pad_if_needed (False), fill (0),
//                         padding_mode (constant)
//   RandomErase           probability, value: a number, or random
//   RandomHorizontalFlip  p (0.5)
//   RandomResizedCropAndInterpolation
//                         size, scale ([0.08, 1]), ratio ([3/4, 4/3]),
//                         interpolation (default, which is bilinear; random:
//                         bilinear or bicubic)
//   RandomVerticalFlip    p (0.5)
//   Resize                size, interpolation (bilinear)
//   ToTensor
//
// A size is one number for both sides, or [height, width]; for Resize one
// number is the shorter side's, and the other side keeps the shape. A padding
// is one number for all sides, [left and right, top and bottom], or [left, top,
// right, bottom]. Before ToTensor an image is uint8[height, width, channels];
// ToTensor makes it float[channels, height, width] in [0, 1], which Normalize
// needs, and so do Lighting and RandomErase; ColorJitter and
// RandAugmentTransform need bytes. All others take both. Resizing bytes gives
// Pillow's bytes. With `decode: fast` the first transform gets a file;
// RandomResizedCropAndInterpolation and Resize decode no more of it than they
// need, all others the whole. Interpolations are nearest, box, bilinear,
// hamming, bicubic and lanczos.
//
// `size`, `padding` and `p` may be set between epochs (data::Loader::Set).
// Immutable otherwise, and so safe from several threads.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TRANSFORMS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TRANSFORMS_H_

#include <memory>

#include "trainer/data/dataset.h"
#include "trainer/plugin/components.h"

namespace slipway::vision_classification {

std::unique_ptr<data::Transform> BuildCenterCrop(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildColorJitter(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildLighting(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildNormalize(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildPad(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandAugment(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandomCrop(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandomErase(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandomHorizontalFlip(
    const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandomResizedCrop(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildRandomVerticalFlip(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildResize(const BuildArgs& args);
std::unique_ptr<data::Transform> BuildToTensor(const BuildArgs& args);

// Adds all of the above by their names.
void RegisterTransforms(Components& components);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TRANSFORMS_H_
