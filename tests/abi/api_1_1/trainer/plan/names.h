// How a component's name in a recipe is matched with one that a plugin lists.
//
//   std::optional<size_t> i = MatchName("pp_yoloe_s", {"ppyoloe_s"});  // 0
//
// Recipes of SuperGradients write `pp_yoloe_s` for `ppyoloe_s` and `Cross-
// EntropyLoss` for `CrossEntropyLoss`; its registries allow it, so ours do.
// Pure functions, safe from any thread.
#ifndef SLIPWAY_TRAINER_PLAN_NAMES_H_
#define SLIPWAY_TRAINER_PLAN_NAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

// `name` without separators and in lower case: names with equal keys mean the
// same. Letters outside ASCII stay as they are.
std::string ComponentKey(std::string_view name);

// The position in `known` of the name that is `name` exactly, else of the first
// one with the same key.
std::optional<size_t> MatchName(std::string_view name,
                                const std::vector<std::string>& known);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLAN_NAMES_H_
