// JSON values as recipe nodes.
#ifndef SLIPWAY_TRAINER_JSON_NODE_H_
#define SLIPWAY_TRAINER_JSON_NODE_H_

#include "nlohmann/json.hpp"
#include "trainer/recipe/node.h"

namespace slipway {

// The same value as a node; every part of it has the place `mark`. Integers
// beyond 64 bits become numbers.
recipe::Node NodeFromJson(const nlohmann::ordered_json& json, const Mark& mark);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_JSON_NODE_H_
