// Compares models with figures that SuperGradients gave for the same weights
// and the same images, both filled by formulas that either side can compute.
//
//   const parity::Json entries = parity::Read("path/to/parity.json");
//   auto model = MakeModel("resnet50", params, problems);
//   parity::ExpectClassifier(*model, entries["imagenet_resnet50"],
//                            {2, 3, 64, 64});
//
// An entry has the model's names with shapes, in order; its outputs in
// evaluation and in train mode (sum, L2 norm, first and last values); the loss;
// the L2 norm of each parameter's gradient; and running means after the
// forward pass in train mode. Failures are gtest's, non-fatal.
#ifndef SLIPWAY_TESTS_PARITY_PARITY_H_
#define SLIPWAY_TESTS_PARITY_PARITY_H_

#include <string>
#include <string_view>

#include "ATen/core/Tensor.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/nn/module.h"

namespace slipway::parity {

// Keeps the order of the file, in which names are compared.
using Json = nlohmann::ordered_json;

// How far a figure may be from the right one, relative to it.
inline constexpr double kTolerance = 1e-4;

// In train mode a deep network on two small images is chaotic: its last layers
// normalise eight values a channel, and another order of summation moves
// ResNet-50's logits by a tenth. Where other last bits of the images, or double
// precision, move a figure by more than kTolerance, it may be as far from the
// right one as this many such moves.
inline constexpr double kMoves = 4;

// Makes LibTorch use the kernels that gave the figures: AVX2, one thread. (On
// processors with other caches they still sum in another order.) Register it
// before any tensor is computed:
//
//   const auto* const kKernels =
//       ::testing::AddGlobalTestEnvironment(new parity::Environment);
class Environment : public ::testing::Environment {
 public:
  void SetUp() override;
};

// The entries of a file among a test's data, by its path in the workspace.
Json Read(const std::string& path);

// Fills every tensor of the state dict. With s(i) = sin(0.7 i + crc32(name) mod
// 1000): running means are 0.1 s, running variances 1 + 0.1 |s|, other vectors
// 1 + 0.1 s (weights) or 0.05 s, all else s sqrt(2 / fan_in); counters are 0.
void FillByFormula(nn::Module& model);

// x(n) = sin(0.013 n) + 0.5 cos(0.37 n).
at::Tensor Images(at::IntArrayRef shape);

// The state dict has the entry's names and shapes, in its order.
void ExpectNames(const nn::Module& model, const Json& entry);

// `tensor` has the shape, sum, norm and values of `summary`.
void ExpectTensor(const at::Tensor& tensor, const Json& summary,
                  double tolerance = kTolerance);

struct Training {
  // The share of the target that all classes have alike.
  double smoothing = 0;
  // See kMoves. More where activations have kinks: a gradient jumps there.
  double moves = kMoves;
};

// All of an entry, for a model from images to logits that is trained by cross
// entropy; the class of image i is 3 i modulo the number of classes.
void ExpectClassifier(nn::Module& model, const Json& entry,
                      at::IntArrayRef images, const Training& training = {});

}  // namespace slipway::parity

#endif  // SLIPWAY_TESTS_PARITY_PARITY_H_
