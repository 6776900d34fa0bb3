// The time spent in plugins, for --plugin_profile.
#ifndef SLIPWAY_TRAINER_PLUGIN_PROFILE_H_
#define SLIPWAY_TRAINER_PLUGIN_PROFILE_H_

#include <string>
#include <vector>

#include "trainer/plugin/hook_runner.h"

namespace slipway {

// A table with a line per plugin and hook, the costliest first:
//
//   plugin  hook            calls   seconds  per call
//   ema     AfterOptimizer    540    0.2831   524.3 us
std::string FormatPluginProfile(std::vector<HookRunner::Time> times);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_PROFILE_H_
