// The weights that a model starts from, where a recipe names a checkpoint.
//
//   checkpoint_params:
//     checkpoint_path: pretrained/resnet18.pth
//     strict_load: no_key_matching
//
//   Problems problems;
//   LoadStartingWeights(recipe, *model, problems);
//
// SuperGradients' keys and meanings, as its models.get has them:
//   checkpoint_path, external_checkpoint_path
//                    the file: a state dict, or a checkpoint of ours, of
//                    SuperGradients' or of Python's. As given, else beneath
//                    ckpt_root_dir.
//   load_ema_as_net  take `ema_net` where the file has one (the default)
//   load_backbone    fill the model's child `backbone` only: from the file's
//                    names that begin with "backbone.", or from all of a file
//                    that is of a backbone alone
//   strict_load      True: names and shapes fit exactly. False: names that are
//                    missing or unexpected are told. key_matching: what fits
//                    by name and shape is taken, the rest is told.
//                    no_key_matching (the default): as True; where the names
//                    differ, tensors are taken one after the other, each of the
//                    shape that is due, and surplus ones at the end left.
//   checkpoint_num_classes
//                    classes of the file; if the model has others, its head
//                    (nn::Module::head) keeps the weights it was built with
// Nothing at all that fits is an error in any case.
#ifndef SLIPWAY_TRAINER_LOOP_STARTING_WEIGHTS_H_
#define SLIPWAY_TRAINER_LOOP_STARTING_WEIGHTS_H_

#include "trainer/nn/module.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// Does nothing if the recipe names no checkpoint. Errors and what is told are
// appended; after an error the model is as it was.
void LoadStartingWeights(const recipe::Node& recipe, nn::Module& model,
                         Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STARTING_WEIGHTS_H_
