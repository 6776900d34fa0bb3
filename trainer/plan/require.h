// What the plugins of a plan need.
#ifndef SLIPWAY_TRAINER_PLAN_REQUIRE_H_
#define SLIPWAY_TRAINER_PLAN_REQUIRE_H_

namespace slipway::plan {

struct Draft;

// Checks that each plugin's requirements are in the plan, in a version that
// will do. What is not there is added, with a note, if the recipe has
// `plugins.auto_require: true` and it is clear which plugin is meant; otherwise
// it is an error.
void RequirePlugins(Draft& draft);

// Checks each plugin by itself: the version that the recipe wants, the plugin
// API, the platform, and the status.
void CheckPlugins(Draft& draft);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_REQUIRE_H_
