// What a recipe writes as a call: maps with `_target_`.
//
//   lr_updates: {_target_: numpy.arange, start: 100, stop: 250, step: 50}
//   strict_load: {_target_: super_gradients.training.sg_trainer.StrictLoad,
//                 value: no_key_matching}
//
// become [100, 150, 200] and no_key_matching. The functions are a closed list,
// by SuperGradients' and NumPy's names:
//
//   numpy.arange               start (0), stop, step (1): a list of numbers
//   ....utils.utils.empty_list []
//   ....StrictLoad             value, as text
//   ....Phase                  value, as text
//   ....utils.utils.load_func  dotpath, as text
//
// A class (its last word begins with a capital) is a component with its
// parameters, which the plugins know: such a map stays as it is, as does
// coco_sub_classes_inclusion_tuples_list, a parameter of a data set.
#ifndef SLIPWAY_TRAINER_RECIPE_TARGETS_H_
#define SLIPWAY_TRAINER_RECIPE_TARGETS_H_

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::recipe {

// Replaces the calls in `recipe`, a composed one, each by its value with the
// call's place and order. Errors: a function that is not in the list (with the
// nearest), a parameter that it does not take or that is of a wrong type.
void ResolveTargets(Node& recipe, Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_TARGETS_H_
