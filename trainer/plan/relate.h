// How the plugins of a plan get on with each other and with the world.
#ifndef SLIPWAY_TRAINER_PLAN_RELATE_H_
#define SLIPWAY_TRAINER_PLAN_RELATE_H_

#include <map>
#include <string>
#include <vector>

namespace slipway::plan {

struct Draft;

// Reports each pair of plugins that either of them declares a conflict of,
// once, and each plugin that cannot run here. A pair that the recipe's
// `plugins.allow` has is a warning; those entries are returned, and unused ones
// are warned of.
std::vector<std::string> CheckConflicts(Draft& draft);

// Who holds which slot. Two holders are an error that nothing overrides.
std::map<std::string, std::string> CheckClaims(Draft& draft);

// Warnings that apply, and notes of what is recommended and not there.
void CheckWarnings(Draft& draft);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_RELATE_H_
