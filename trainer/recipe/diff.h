// How two recipes differ, key by key.
//
//   for (const Change& change : CompareNodes(before, after)) {
//     std::cerr << FormatChange(change) << "\n";
//     // training_hyperparams.initial_lr: 0.1 -> 0.01 (recipes/x.yaml:14:3)
//   }
//
// Maps are compared entry by entry, whatever their order; all else as a whole.
// Functions only.
#ifndef SLIPWAY_TRAINER_RECIPE_DIFF_H_
#define SLIPWAY_TRAINER_RECIPE_DIFF_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/recipe/node.h"

namespace slipway::recipe {

struct Change {
  std::string key;  // "a.b.c"
  // Absent: there was, or is, no such key.
  std::optional<Node> before;
  std::optional<Node> after;
};

// In the order of `after`; what only `before` has comes last.
std::vector<Change> CompareNodes(const Node& before, const Node& after);

// One line, with the place of the new value where it has one.
std::string FormatChange(const Change& change);

// {key, before, after, where}; null for what is absent.
nlohmann::ordered_json ToJson(const Change& change);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_DIFF_H_
