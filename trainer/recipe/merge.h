// How one recipe is laid over another.
#ifndef SLIPWAY_TRAINER_RECIPE_MERGE_H_
#define SLIPWAY_TRAINER_RECIPE_MERGE_H_

#include "trainer/recipe/node.h"

namespace slipway::recipe {

// Lays `from` over `into`; both are maps. Maps merge key by key; any other
// value replaces what is there, lists and null included, except that "???"
// never replaces a value. What `from` says has its place and order afterwards.
void Merge(Node from, Node& into);

// Sets the order of `node` and all that is in it.
void SetOrder(int order, Node& node);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_MERGE_H_
