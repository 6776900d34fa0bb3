// What a compiler finds in a small net: convolution, running statistics,
// dropout and a matrix product.
#ifndef SLIPWAY_PLUGINS_COMPILE_TEST_NET_H_
#define SLIPWAY_PLUGINS_COMPILE_TEST_NET_H_

#include <cstdint>
#include <memory>

#include "ATen/Context.h"
#include "ATen/core/Tensor.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"
#include "trainer/nn/module.h"

namespace slipway::compile {

// Images [N, 3, H, W] to [N, 10].
inline std::unique_ptr<nn::Module> TestNet(double dropout = 0) {
  return nn::Sequential(
      nn::Conv2d({.in = 3, .out = 8, .kernel = 3, .padding = 1}),
      nn::BatchNorm2d(8), nn::SiLU(), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
      nn::Dropout(dropout), nn::Linear({.in = 8, .out = 10}));
}

// From which on dropout and at::randn draw.
inline void Seed(uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(seed);
}

// The model's forward as plugins call it.
inline nn::Module::ForwardFunction ForwardOf(nn::Module& model) {
  return [&model](const Value& batch) { return model.Run(batch); };
}

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_TEST_NET_H_
