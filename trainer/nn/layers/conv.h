// Convolutions over images [N, C, H, W].
//
//   Add("conv1", nn::Conv2d({.in = 3, .out = 64, .kernel = 7, .stride = 2,
//                            .padding = 3, .bias = false}));
//
// Parameters "weight" and "bias" start as Python's do (nn::DefaultInit).
#ifndef SLIPWAY_TRAINER_NN_LAYERS_CONV_H_
#define SLIPWAY_TRAINER_NN_LAYERS_CONV_H_

#include <cstdint>
#include <memory>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

// `groups` divides both `in` and `out` (CHECKed). Padding is with zeros.
struct Conv2dOptions {
  int64_t in = 0;
  int64_t out = 0;
  Pair kernel = 1;
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

// weight: [out, in / groups, kernel]; output: [N, out, H', W'] with
// H' = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down.
std::unique_ptr<Module> Conv2d(const Conv2dOptions& options);

// The gradient of a Conv2d with regard to its input, as a layer: `stride`
// enlarges the image.
struct ConvTranspose2dOptions {
  int64_t in = 0;
  int64_t out = 0;
  Pair kernel = 1;
  Pair stride = 1;
  Pair padding = 0;
  // Rows and columns added at one side, where several sizes are possible.
  Pair output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Pair dilation = 1;
};

// weight: [in, out / groups, kernel]; output: [N, out, H', W'] with
// H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.
std::unique_ptr<Module> ConvTranspose2d(const ConvTranspose2dOptions& options);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_CONV_H_
