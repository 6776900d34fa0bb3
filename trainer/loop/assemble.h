// From a recipe and the plugins' components to what the trainer trains with.
//
//   TrainerParts parts;
//   parts.hooks = std::make_unique<HookRunner>(std::move(plugins), plan.order);
//   Assemble(recipe, hyperparams, components, /*rank=*/0, /*world_size=*/1,
//            parts, problems);
//
// What `parts` holds already stays: a program that brings its own model and
// loaders needs no recipe keys for them. Keys read, with SuperGradients' names:
//
//   architecture, arch_params                  the model
//   train_dataloader, val_dataloader, ...      see data/build.h
//   training_hyperparams:
//     loss, criterion_params                   the loss
//     optimizer, optimizer_params              the optimizer
//     lr_mode                                  the schedule; none if null
//     train_metrics_list, valid_metrics_list   the metrics
//     phase_callbacks                          hooks besides the plugins'
//     sg_logger                                a reporter besides the trainer's
//
// A component is written as `Name`, `{Name: {parameters}}` or `_target_`.
#ifndef SLIPWAY_TRAINER_LOOP_ASSEMBLE_H_
#define SLIPWAY_TRAINER_LOOP_ASSEMBLE_H_

#include "trainer/loop/hyperparams.h"
#include "trainer/loop/trainer.h"
#include "trainer/plugin/components.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

// Fills in what `parts` lacks; every name that is unknown and every parameter
// that is wrong is appended at once. Loaders get the share of `rank` among
// `world_size`. The weights of the model depend on `hyperparams.seed` alone.
// `recipe` and `components` are kept by reference in `parts.make_optimizer`.
void Assemble(const recipe::Node& recipe, const Hyperparams& hyperparams,
              const Components& components, int rank, int world_size,
              TrainerParts& parts, Problems& problems);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_ASSEMBLE_H_
