// Which components a recipe names.
//
//   for (const ComponentUse& use : ComponentsOf(recipe)) ...  // {"models",
//   ...}
//
// A pure function, safe from any thread.
#ifndef SLIPWAY_TRAINER_PLAN_COMPONENTS_H_
#define SLIPWAY_TRAINER_PLAN_COMPONENTS_H_

#include <string>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// A component that a recipe names: {"models", "resnet18"}.
struct ComponentUse {
  std::string kind;
  std::string name;
  Mark where;
};

// What a recipe names as architecture, loss, metrics, optimizer, schedule,
// callbacks and reporter, and for each data set (train, val, test) as its
// loader or data set, transforms, collate and sampler: the plugins that list
// those names in their manifests are planned with it. Written as `Name`,
// `{Name: {parameters}}` or `{_target_: module.Name, parameters}`, alone or in
// a list. What other components take as parameters is not looked into;
// `warmup_mode`, which every recipe of SuperGradients has, asks for nothing,
// and neither does its reporter `base_sg_logger`.
std::vector<ComponentUse> ComponentsOf(const recipe::Node& recipe);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_COMPONENTS_H_
