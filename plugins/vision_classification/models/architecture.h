// How a family of models is offered to recipes: names, each with what reads
// its `arch_params`.
//
//   std::vector<Architecture> ViTArchitectures() {
//     return {{"vit_base", [](recipe::Params& params) -> Builder {
//                const ViTOptions options = {.classes = ReadClasses(params)};
//                return [options] { return ViT(options); };
//              }}};
//   }
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_ARCHITECTURE_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_ARCHITECTURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/recipe/params.h"

namespace slipway::vision_classification {

using Builder = std::function<std::unique_ptr<nn::Module>()>;

struct Architecture {
  std::string name;
  // Asks for every parameter that there is. The builder is called only if no
  // parameter was wrong.
  std::function<Builder(recipe::Params& params)> read;
};

// "num_classes", which a model without a head does not need.
int64_t ReadClasses(recipe::Params& params, bool head = true);
// "in_channels" or what `key` says; 3 unless given.
int64_t ReadChannels(recipe::Params& params,
                     std::string_view key = "in_channels");
// A probability, `fallback` unless given.
double ReadProbability(recipe::Params& params, std::string_view key,
                       double fallback = 0);

// A list of lists of `columns` numbers each. Empty if it is absent or wrong.
using Rows = std::vector<std::vector<double>>;
Rows ReadRows(recipe::Params& params, std::string_view key, size_t columns);

// For a parameter that SuperGradients takes and passes over, since the
// architecture's name decides: a problem unless `same`.
void ExpectSame(recipe::Params& params, std::string_view key, bool same,
                std::string_view custom);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_MODELS_ARCHITECTURE_H_
