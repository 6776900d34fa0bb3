// Recipe nodes as pickle values, and back (plugins keep their numbers so).
#ifndef SLIPWAY_TRAINER_CHECKPOINT_NODE_PICKLE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_NODE_PICKLE_H_

#include "absl/status/statusor.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/recipe/node.h"

namespace slipway {

PickleValue ToPickle(const recipe::Node& node);

// INVALID_ARGUMENT for tensors, bytes and dicts with keys that are no texts.
absl::StatusOr<recipe::Node> ToNode(const PickleValue& value);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_NODE_PICKLE_H_
