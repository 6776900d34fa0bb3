// Interpolations: values that refer to other values of the same recipe.
//
//   num_classes: 10
//   arch_params: {num_classes: ${num_classes}}       # from the top: 10
//   experiment: net_${arch_params.num_classes}       # within text: net_10
//   data: {dir: /data, train: {dir: ${..dir}}}       # from the parent's map
//   width: ${mul:${num_classes},2}                   # a resolver (resolvers.h)
//
// One dot at the start means the map or list that holds the value, each further
// dot one above. A value that is nothing but one interpolation takes the other
// value as it is, maps and lists included; within text it is written as Python
// would print it (True, None, [1, 2], 1e-05). Parts of a path can be
// interpolations: ${anchors.${size}}. `\${` is a literal `${`. As in OmegaConf.
// Functions only.
#ifndef SLIPWAY_TRAINER_RECIPE_INTERPOLATE_H_
#define SLIPWAY_TRAINER_RECIPE_INTERPOLATE_H_

#include <map>
#include <optional>
#include <set>
#include <string>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/resolvers.h"

namespace slipway::recipe {

// `root` with all interpolations replaced; each result has the place and the
// order of the interpolation. Errors, each once: a path that leads nowhere
// (with the nearest key), a value that is still open, a cycle (printed whole),
// a resolver that is unknown or cannot take its arguments, text that is no
// interpolation; more than 100 levels, 100,000 interpolations or 4 MiB of text.
// All paths, from the top, are added to `variables`, if given.
std::optional<Node> Interpolate(const Node& root,
                                const ResolverContext& context,
                                Problems& problems,
                                std::set<std::string>* variables = nullptr);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_INTERPOLATE_H_
