// Which parameters share a learning rate and a weight decay.
//
//   Problems problems;
//   std::vector<ParameterGroup> groups =
//       BuildParameterGroups(model, recipe, zero_weight_decay, problems);
//
// `training_hyperparams.finetune` trains the model's head alone, at initial_lr:
// it stands for {<head>: initial_lr, default: 0}. (Where SuperGradients asks a
// model for such a map, get_finetune_lr_dict.)
//
// `training_hyperparams.initial_lr` is a number or a map from prefixes of
// parameter names to numbers:
//
//   initial_lr: {backbone: 0.01, backbone.stem: 0, default: 0.1}
//
// SuperGradients' semantics, except that groups keep the order of the file
// (there it changes from run to run), that of several prefixes that fit a name
// the longest counts (there the parameter is in two groups, an error), and that
// groups which do not set weight decay have the optimizer's own (there AdamW
// and Lamb lose their default).
#ifndef SLIPWAY_TRAINER_LOOP_PARAMETER_GROUPS_H_
#define SLIPWAY_TRAINER_LOOP_PARAMETER_GROUPS_H_

#include <vector>

#include "trainer/nn/module.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// A group per entry of initial_lr, in file order, each with its parameters in
// model order; a number is the map {default: number}. `default`, which a map
// must have, takes what no prefix fits. A rate of 0 freezes: such parameters
// get no gradient (requires_grad is switched off) and are in no group, as are
// those that were frozen before. Groups without parameters are left out.
//
// With `zero_weight_decay` (the recipe's zero_weight_decay_on_bias_and_bn) each
// group is split: first the weights of normalisation layers (BatchNorm,
// GroupNorm, LayerNorm, InstanceNorm) and every `bias`, with weight_decay 0,
// then the rest. What lies inside an opaque
// module has no layer types; there weights of one dimension count as
// normalisation.
//
// Appends an error for finetune with a map of rates or with a model that names
// no head, for a rate that is no number or below 0, a map without
// `default`, a prefix that fits no parameter, and for a model all of which is
// frozen; the result is then incomplete, and nothing has been frozen.
std::vector<ParameterGroup> BuildParameterGroups(nn::Module& model,
                                                 const recipe::Node& recipe,
                                                 bool zero_weight_decay,
                                                 Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_PARAMETER_GROUPS_H_
