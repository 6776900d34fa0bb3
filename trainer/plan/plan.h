// Which plugins run, in which order, with which configuration; or why not.
//
//   std::vector<Manifest> manifests = DiscoverManifests(folders, problems);
//   std::optional<Plan> plan = ResolvePlan(manifests, recipe, environment,
//                                          problems);
//   if (!plan) { std::cerr << FormatProblems(problems); return 2; }
//   std::cout << FormatPlan(*plan);
//
// ResolvePlan is a pure function from values to a value: the launcher and the
// trainer get the same plan (and hash) from the same recipe, and tests need no
// library, process or device. Every problem is found in one pass.
#ifndef SLIPWAY_TRAINER_PLAN_PLAN_H_
#define SLIPWAY_TRAINER_PLAN_PLAN_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// What becomes of a run when a plugin's hook fails.
enum class OnError { kFail, kWarn, kDisable };

// Why a plugin is in the plan.
enum class Because { kRecipe, kRecipeKey, kRequires, kComponent };

struct PlannedPlugin {
  std::string id;
  Version version;
  std::string manifest;  // path of its plugin.yaml
  std::string library;   // absolute path of its shared library
  Because because = Because::kRecipe;
  OnError on_error = OnError::kFail;
  Status status = Status::kStable;
  // Complete: every field of the manifest's config, defaults filled in.
  recipe::Node config;
  std::vector<std::string> hooks;
  Mark where;  // what in the recipe brought it in
};

struct Plan {
  // In load order.
  std::vector<PlannedPlugin> plugins;
  // Per hook, the ids in calling order; hooks that nobody has are absent.
  // Closing hooks (EpochEnd, EvalEnd, MicroEnd, StepEnd, FitEnd, AfterSave,
  // OnFailure, Close) run in reverse.
  std::map<std::string, std::vector<std::string>> order;
  std::map<std::string, std::string> claims;  // slot -> id
  std::vector<std::string> effects;
  // Warnings and notes (errors give no plan).
  Problems problems;
  // Conflicts that `plugins.allow` overrode, such as "ema+compile: why".
  std::vector<std::string> tainted;
  // SHA-256, in hex, of the canonical JSON of ids, versions, configs, order.
  std::string hash;

  const PlannedPlugin* Find(std::string_view id) const;
};

// A component that a recipe names: {"models", "resnet18"}.
struct ComponentUse {
  std::string kind;
  std::string name;
  Mark where;
};

// What a recipe names as architecture, loss, metrics, optimizer, ...: the
// plugins that list those names in their manifests are planned with it.
std::vector<ComponentUse> ComponentsOf(const recipe::Node& recipe);

// See the file's banner. Nullopt if `problems` gained an error. Only the
// plugins that the recipe asks for (section `plugins`, recipe keys, component
// names, and what those require if `plugins.auto_require` is true) are planned.
std::optional<Plan> ResolvePlan(const std::vector<Manifest>& manifests,
                                const recipe::Node& recipe,
                                const Environment& environment,
                                Problems& problems);

// For people: plugins with version, reason and configuration, order per hook,
// claims, effects, warnings.
std::string FormatPlan(const Plan& plan);

// plan.json, as in the contracts.
nlohmann::ordered_json ToJson(const Plan& plan);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLAN_H_
