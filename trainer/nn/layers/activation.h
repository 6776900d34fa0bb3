// Activation functions as layers, for models that let them be replaced.
//
//   Add("act", nn::SiLU());
//
// Each maps a tensor of any shape, element by element, into a new one (Softmax:
// over a dimension). They have neither parameters nor state.
#ifndef SLIPWAY_TRAINER_NN_LAYERS_ACTIVATION_H_
#define SLIPWAY_TRAINER_NN_LAYERS_ACTIVATION_H_

#include <cstdint>
#include <memory>

#include "trainer/nn/module.h"

namespace slipway::nn {

std::unique_ptr<Module> ReLU();
// min(max(x, 0), 6).
std::unique_ptr<Module> ReLU6();
// `slope` times x where x is negative.
std::unique_ptr<Module> LeakyReLU(double slope = 0.01);
std::unique_ptr<Module> Sigmoid();
std::unique_ptr<Module> Tanh();
// x sigmoid(x).
std::unique_ptr<Module> SiLU();
// Hendrycks and Gimpel, 2016: x Phi(x), exactly or by its tanh formula.
enum class GeluFormula { kExact, kTanh };
std::unique_ptr<Module> GELU(GeluFormula formula = GeluFormula::kExact);
// Howard et al., "Searching for MobileNetV3", 2019: relu6(x + 3) / 6, and x
// times that.
std::unique_ptr<Module> Hardsigmoid();
std::unique_ptr<Module> Hardswish();
std::unique_ptr<Module> Softmax(int64_t dimension);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_ACTIVATION_H_
