// From a plan to plugins that can run: opens their libraries, checks that they
// are what their manifests say, creates them and collects their components.
//
//   Components components;
//   std::vector<RunningPlugin> plugins =
//       LoadPlugins(plan, manifests, components, problems);
//   if (HasErrors(problems)) return 2;
//   HookRunner hooks(std::move(plugins), plan.order);
//
// This is where a plan stops being a pure value: libraries are loaded, and stay
// so. Nothing is written. For the training thread.
#ifndef SLIPWAY_TRAINER_PLUGIN_LOAD_PLUGINS_H_
#define SLIPWAY_TRAINER_PLUGIN_LOAD_PLUGINS_H_

#include <vector>

#include "trainer/plan/manifest.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// The plan's plugins in load order, created with their configuration; what they
// registered is added to `components`. `manifests` hold those that were
// planned.
//
// Everything wrong with any of them is appended at once: libraries that are
// absent, foreign or of another ABI (kinds not_found and abi), that disagree
// with their manifest in id, version or components (manifest), that are only
// planned (status), refuse their configuration (value), or throw while they are
// made (hook). With an error the result is empty, what was made is closed and
// destroyed, and `components` is unchanged.
std::vector<RunningPlugin> LoadPlugins(
    const plan::Plan& plan, const std::vector<plan::Manifest>& manifests,
    Components& components, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_LOAD_PLUGINS_H_
