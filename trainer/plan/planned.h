// A plan and the plugins in it, as values.
//
//   const PlannedPlugin* ema = plan.Find("ema");
//   if (ema != nullptr) Load(ema->library, ema->config);
//
// Made by ResolvePlan (plan.h). Safe to copy between threads.
#ifndef SLIPWAY_TRAINER_PLAN_PLANNED_H_
#define SLIPWAY_TRAINER_PLAN_PLANNED_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// What becomes of a run when a plugin's hook fails.
enum class OnError { kFail, kWarn, kDisable };
std::string_view Name(OnError on_error);  // "fail", "warn", "disable"

// Why a plugin is in the plan.
enum class Because { kRecipe, kRecipeKey, kRequires, kComponent };
std::string_view Name(Because because);  // "recipe", "recipe_key", ...

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
  std::vector<std::string> effects;           // "ema: memory: +1x parameters"
  // Warnings and notes (errors give no plan).
  Problems problems;
  // Conflicts that `plugins.allow` overrode, such as "ema+compile: why".
  std::vector<std::string> tainted;
  // SHA-256, in hex, of the canonical JSON of ids, versions, configs, order.
  std::string hash;

  // Null if the plugin is not in the plan.
  const PlannedPlugin* Find(std::string_view id) const;
};

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLANNED_H_
