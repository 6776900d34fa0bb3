// A table of vectors, looked up by number.
//
//   Add("tokens", nn::Embedding({.entries = 1000, .dimension = 64}));
#ifndef SLIPWAY_TRAINER_NN_LAYERS_EMBEDDING_H_
#define SLIPWAY_TRAINER_NN_LAYERS_EMBEDDING_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/nn/layers/layer.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct EmbeddingOptions {
  int64_t entries = 0;
  int64_t dimension = 0;
  // This entry starts as zeros and gets no gradient.
  std::optional<int64_t> padding = std::nullopt;
};

// From integers [...] in [0, entries) to [..., dimension]. Parameter "weight"
// [entries, dimension] starts standard normal.
std::unique_ptr<Module> Embedding(const EmbeddingOptions& options);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_EMBEDDING_H_
