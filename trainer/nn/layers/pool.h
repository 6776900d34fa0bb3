// Pooling over images [N, C, H, W]. No parameters, no state.
//
//   Add("maxpool", nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}));
//   Add("avgpool", nn::AdaptiveAvgPool2d(1));
#ifndef SLIPWAY_TRAINER_NN_LAYERS_POOL_H_
#define SLIPWAY_TRAINER_NN_LAYERS_POOL_H_

#include <memory>
#include <optional>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

// The output's height is (H + 2 padding - kernel) / stride + 1, rounded down
// (up with `ceil_mode`); without a stride, the stride is the kernel.
struct MaxPool2dOptions {
  Pair kernel = 1;
  std::optional<Pair> stride = std::nullopt;
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
};
std::unique_ptr<Module> MaxPool2d(const MaxPool2dOptions& options);

struct AvgPool2dOptions {
  Pair kernel = 1;
  std::optional<Pair> stride = std::nullopt;
  Pair padding = 0;
  bool ceil_mode = false;
  // Whether the zeros of the padding count in the mean.
  bool count_include_pad = true;
};
std::unique_ptr<Module> AvgPool2d(const AvgPool2dOptions& options);

// The mean of each of `output` nearly equal parts of the image.
std::unique_ptr<Module> AdaptiveAvgPool2d(Pair output);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_POOL_H_
