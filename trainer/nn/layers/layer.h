// Layers that are made from options, which surgery on a model reads back.
//
//   for (auto& [path, module] : model.NamedModules()) {
//     if (auto* options = nn::OptionsOf<nn::BatchNormOptions>(*module)) {
//       model.Replace(path, SyncBatchNorm(*options));
//     }
//   }
#ifndef SLIPWAY_TRAINER_NN_LAYERS_LAYER_H_
#define SLIPWAY_TRAINER_NN_LAYERS_LAYER_H_

#include <array>
#include <cstdint>
#include <utility>

#include "trainer/nn/module.h"

namespace slipway::nn {

// A height and a width; one number stands for both.
struct Pair {
  Pair(int64_t both) : value{both, both} {}  // NOLINT: {.kernel = 3}
  Pair(int64_t height, int64_t width) : value{height, width} {}

  at::IntArrayRef array() const { return value; }
  bool operator==(const Pair&) const = default;

  std::array<int64_t, 2> value;
};

template <typename Options>
class LayerWith : public TensorModule {
 public:
  explicit LayerWith(Options options) : options_(std::move(options)) {}
  const Options& options() const { return options_; }

 private:
  Options options_;
};

// The options that `module` was made from, or null if it was not made from
// such options. Owned by the module.
template <typename Options>
const Options* OptionsOf(const Module& module) {
  const auto* layer = dynamic_cast<const LayerWith<Options>*>(&module);
  return layer == nullptr ? nullptr : &layer->options();
}

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_LAYER_H_
