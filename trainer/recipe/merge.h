// How one recipe is laid over another.
#ifndef SLIPWAY_TRAINER_RECIPE_MERGE_H_
#define SLIPWAY_TRAINER_RECIPE_MERGE_H_

#include <string>
#include <vector>

#include "trainer/recipe/node.h"

namespace slipway::recipe {

// Lays `from` over the whole recipe `into`; both are maps. Maps merge key by
// key; any other value replaces what is there, lists and null included, except
// that "???" never replaces a value. A map over an interpolation of a map
// (`val: ${train}`) merges into a copy of what that refers to by now. What
// `from` says has its place and order afterwards. As OmegaConf merges, but that
// a list may replace a map.
void Merge(Node from, Node& into);

// Lays `from` over the map `at` that is at `path` in the recipe `root`.
void MergeAt(Node from, Node& at, const std::vector<std::string>& path,
             const Node& root);

// Sets the order of `node` and all that is in it.
void SetOrder(int order, Node& node);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_MERGE_H_
