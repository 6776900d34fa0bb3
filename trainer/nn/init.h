// Fills tensors with a network's initial weights, as Python's torch.nn.init.
//
//   nn::KaimingNormal(weight, {.fan = nn::Fan::kOut});
//   nn::TruncatedNormal(embedding, {.std = 0.02}, generator);
//
// Each function writes into its tensor, outside autograd, and draws from
// `generator` or, without one, from the tensor's device's default generator
// (the one that at::manual_seed() seeds). The same seed gives the same numbers
// as Python's function of that name. Not thread-safe for one generator.
#ifndef SLIPWAY_TRAINER_NN_INIT_H_
#define SLIPWAY_TRAINER_NN_INIT_H_

#include <cstdint>
#include <optional>

#include "ATen/core/Generator.h"
#include "ATen/core/Tensor.h"

namespace slipway::nn {

using OptionalGenerator = std::optional<at::Generator>;

// How many inputs and outputs of a layer meet in one of its weights: for a
// shape [out, in, k...], `in` and `out` times the product of k. The tensor has
// two or more dimensions (CHECKed).
struct Fans {
  int64_t in = 0;
  int64_t out = 0;
};
Fans FansOf(const at::Tensor& weight);

enum class Fan { kIn, kOut };

// He et al., "Delving Deep into Rectifiers", 2015: keeps the variance of
// activations (Fan::kIn) or of gradients (Fan::kOut) through a leaky ReLU of
// slope `slope` (0: ReLU; 1: a linear layer), std = sqrt(2 / (1 + slope^2)) /
// sqrt(fan).
struct KaimingOptions {
  double slope = 0;
  Fan fan = Fan::kIn;
};
void KaimingUniform(const at::Tensor& weight,
                    const KaimingOptions& options = {},
                    const OptionalGenerator& generator = {});
void KaimingNormal(const at::Tensor& weight, const KaimingOptions& options = {},
                   const OptionalGenerator& generator = {});

// Glorot and Bengio, "Understanding the difficulty of training deep feedforward
// neural networks", 2010: std = gain * sqrt(2 / (in + out)).
void XavierUniform(const at::Tensor& weight, double gain = 1,
                   const OptionalGenerator& generator = {});
void XavierNormal(const at::Tensor& weight, double gain = 1,
                  const OptionalGenerator& generator = {});

struct NormalOptions {
  double mean = 0;
  double std = 1;
};
void Normal(const at::Tensor& tensor, const NormalOptions& options = {},
            const OptionalGenerator& generator = {});

// A normal distribution of which only [low, high] is kept (by the inverse of
// its distribution function, so one draw an element). `std` is that of the
// distribution before the cut.
struct TruncatedNormalOptions {
  double mean = 0;
  double std = 1;
  double low = -2;
  double high = 2;
};
void TruncatedNormal(const at::Tensor& tensor,
                     const TruncatedNormalOptions& options = {},
                     const OptionalGenerator& generator = {});

void Uniform(const at::Tensor& tensor, double low, double high,
             const OptionalGenerator& generator = {});

// What Python's Linear and convolutions start from: weight and bias uniform
// within 1 / sqrt(fan in of the weight). `bias` may be undefined.
void DefaultInit(const at::Tensor& weight, const at::Tensor& bias,
                 const OptionalGenerator& generator = {});

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_INIT_H_
