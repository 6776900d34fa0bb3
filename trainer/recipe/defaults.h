// The files that make up a recipe: what its `defaults` list names, recursively,
// in the order in which they are laid over each other.
//
//   defaults:
//     - imagenet_base                       another recipe
//     - training_hyperparams: my_params     a group's choice: the file
//                                           training_hyperparams/my_params.yaml
//     - optional arch_params: maybe         the same, if there is such a file
//     - override dataset_params: other      another choice where the group was
//                                           chosen, by a recipe above
//     - _self_                              this file's own keys
//
// A group's file is laid under the group's key. A file without `_self_` comes
// last. In a group's file, a plain name is another file of the group, and a
// group is one within it (or, as "/group", one from the top), laid below it. As
// in Hydra, but that a group which is chosen again replaces the earlier choice,
// in the later place (Hydra refuses it), and that `@package` and interpolations
// in the list are errors. Internal to compose.h.
#ifndef SLIPWAY_TRAINER_RECIPE_DEFAULTS_H_
#define SLIPWAY_TRAINER_RECIPE_DEFAULTS_H_

#include <string>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/override.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/search.h"

namespace slipway::recipe {

// One file's own keys.
struct Layer {
  Node content;                      // a map, without `defaults`
  std::vector<std::string> package;  // the keys under which it is laid
};

// The layers of the recipe in `file`, a path; groups are searched in `path`.
// `choices` are overrides of groups: a change or a removal must have a group to
// act on; an addition is laid over all else. Appends all problems of all files:
// missing files, cycles (printed whole), lists that are no defaults list.
std::vector<Layer> LoadLayers(const std::string& file, const SearchPath& path,
                              const std::vector<Override>& choices,
                              Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_DEFAULTS_H_
