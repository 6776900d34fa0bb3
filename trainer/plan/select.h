// Which plugins a recipe asks for.
#ifndef SLIPWAY_TRAINER_PLAN_SELECT_H_
#define SLIPWAY_TRAINER_PLAN_SELECT_H_

namespace slipway::plan {

struct Draft;

// Adds to the plan what the recipe asks for: the plugins of its section
// `plugins:` in that order, then those that its keys switch on, then those that
// have the components it names, each by id. A key and the section that disagree
// are settled by composition's order, or are an error if they stand in one file
// (or both on the command line). So is a component that no plugin has, or that
// several have.
void SelectPlugins(Draft& draft);

// The last part of that.
void SelectComponents(Draft& draft);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_SELECT_H_
