// How a recipe writes one component with its parameters:
//
//   ToTensor
//   RandomCrop: {size: 32, padding: 4}
//   {_target_: some.module.CollateMixup, mixup_alpha: 0.2}
//
// Values only; safe from any thread.
#ifndef SLIPWAY_TRAINER_DATA_COMPONENT_SPEC_H_
#define SLIPWAY_TRAINER_DATA_COMPONENT_SPEC_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::data {

struct ComponentSpec {
  std::string name;     // the last word of a _target_
  recipe::Node params;  // null for none
  Mark where;           // of the name
};

// Reads `value`, which is none of the above for an error: nullopt then. `noun`
// is what messages call it: "transform".
std::optional<ComponentSpec> ReadComponent(const recipe::Node& value,
                                           std::string_view noun,
                                           Problems& problems);

// One component, or a list of them; none for null. Those that are wrong are
// left out, with an error each.
std::vector<ComponentSpec> ReadComponents(const recipe::Node& value,
                                          std::string_view noun,
                                          Problems& problems);

// The error for a component of which no plugin knows: `known` are the names
// that there are.
Problem UnknownComponent(const ComponentSpec& spec, std::string_view noun,
                         const std::vector<std::string>& known);

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_COMPONENT_SPEC_H_
