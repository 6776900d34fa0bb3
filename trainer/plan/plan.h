// Which plugins run, in which order, with which configuration; or why not.
//
//   std::vector<Manifest> manifests = DiscoverManifests(folders, problems);
//   std::optional<Plan> plan = ResolvePlan(manifests, recipe, environment,
//                                          problems, folders);
//   if (!plan) { std::cerr << FormatProblems(problems); return 2; }
//   std::cout << FormatPlan(*plan);
//
// ResolvePlan is a pure function from values to a value: the launcher and the
// trainer get the same plan (and hash) from the same recipe, and tests need no
// library, process or device. Every problem is found in one pass.
#ifndef SLIPWAY_TRAINER_PLAN_PLAN_H_
#define SLIPWAY_TRAINER_PLAN_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/components.h"
#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/planned.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// See the file's banner. Only the plugins that the recipe asks for (section
// `plugins`, recipe keys, component names, and what those require if
// `plugins.auto_require` is true) are planned. With any error, nullopt, and all
// that was found is appended to `problems`; otherwise `problems` gains nothing,
// and warnings and notes are in the plan. `searched` are the folders in which
// the manifests were looked for, named in messages about what is not there.
std::optional<Plan> ResolvePlan(const std::vector<Manifest>& manifests,
                                const recipe::Node& recipe,
                                const Environment& environment,
                                Problems& problems,
                                const std::vector<std::string>& searched = {});

// For people: plugins with version, reason and configuration, order per hook,
// claims, effects, warnings.
std::string FormatPlan(const Plan& plan);

// plan.json, as in the contracts.
nlohmann::ordered_json ToJson(const Plan& plan);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLAN_H_
