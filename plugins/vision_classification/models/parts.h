// What several families of models have in common.
//
//   nn::ModuleList layers;
//   AppendConvBn(layers, {.in = 3, .out = 32, .kernel = 3, .stride = 2,
//                         .padding = 1});
//   layers.push_back(nn::ReLU6());
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_PARTS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_PARTS_H_

#include <cstdint>
#include <memory>

#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/module.h"

namespace slipway::vision_classification {

// Appends a convolution without a bias, whatever `conv` says, and the
// normalisation of its output.
void AppendConvBn(nn::ModuleList& layers, nn::Conv2dOptions conv);

// `layers` in order, as the child "conv", to whose output a residual block adds
// its input.
std::unique_ptr<nn::Module> InvertedResidual(nn::ModuleList layers,
                                             bool residual);

// `channels` to the nearest multiple of `divisor`, but at least `minimum` and
// not less than nine tenths of `channels`.
int64_t MakeDivisible(double channels, int64_t divisor = 8,
                      int64_t minimum = 8);

// Weights of convolutions from a normal distribution with the variance 2 /
// (kernel's area * channels out), grouped or not; those of linear layers with
// the standard deviation 0.01, and their biases zero. All else stays.
void InitByFanOut(nn::Module& model);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_PARTS_H_
