#include "trainer/plan/manifest.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace slipway::plan {

const std::vector<std::string>& HookNames() {
  static const auto* const names = new std::vector<std::string>{
      "Configure",      "CreateModel",   "TransformModel", "BuildOptimizer",
      "WrapForward",    "BeforeLoad",    "AfterLoad",      "FitBegin",
      "EpochBegin",     "BatchFetched",  "StepBegin",      "MicroBegin",
      "BeforeForward",  "AfterForward",  "ComputeLoss",    "AfterLoss",
      "BeforeBackward", "AfterBackward", "MicroEnd",       "BeforeOptimizer",
      "AfterOptimizer", "StepEnd",       "EpochEnd",       "EvalBegin",
      "EvalBatchBegin", "EvalForward",   "EvalBatchEnd",   "EvalEnd",
      "BeforeSave",     "AfterSave",     "FitEnd",         "OnFailure",
      "Close"};
  return *names;
}

const std::vector<std::string>& ClaimNames() {
  static const auto* const names = new std::vector<std::string>{
      "graph_compiler", "optimizer_step",   "backward_scale",
      "loss",           "eval_forward",     "eval_weights",
      "lr_warmup",      "lr_schedule",      "lr_scale",
      "gradient_sync",  "parameter_layout", "optimizer_state_layout"};
  return *names;
}

const std::vector<std::string>& ComponentKinds() {
  static const auto* const kinds = new std::vector<std::string>{
      "models",  "datasets",   "transforms", "collates",  "samplers", "losses",
      "metrics", "optimizers", "schedules",  "reporters", "callbacks"};
  return *kinds;
}

std::string_view Name(Status status) {
  switch (status) {
    case Status::kStable:
      return "stable";
    case Status::kAlpha:
      return "alpha";
    case Status::kPlanned:
      return "planned";
    case Status::kDeprecated:
      break;
  }
  return "deprecated";
}

std::string LibraryName(std::string_view id) {
  return absl::StrCat("lib", absl::StrReplaceAll(std::string(id), {{".", "_"}}),
                      ".so");
}

std::string_view RecipeKey::Wildcard() const {
  constexpr std::string_view kSuffix = ".*";
  const std::string_view text = key;
  if (!text.ends_with(kSuffix)) return {};
  return text.substr(0, text.size() - kSuffix.size());
}

Mark Manifest::MarkOf(const std::string& field) const {
  const auto found = marks.find(field);
  return found == marks.end() ? Mark{path} : found->second;
}

std::string Manifest::LibraryPath() const {
  const std::filesystem::path beside =
      std::filesystem::path(path).parent_path() / library;
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::absolute(beside, error);
  return (error ? beside : absolute).lexically_normal().string();
}

const ConfigField* Manifest::FindConfig(std::string_view key) const {
  const auto found =
      std::find_if(config.begin(), config.end(),
                   [&](const ConfigField& field) { return field.key == key; });
  return found == config.end() ? nullptr : &*found;
}

bool Manifest::IsOrProvides(std::string_view name) const {
  return id == name ||
         std::find(provides.begin(), provides.end(), name) != provides.end();
}

std::vector<std::string> Manifest::KnownRecipeKeys() const {
  std::vector<std::string> keys;
  for (const RecipeKey& recipe_key : recipe_keys) {
    const std::string map(recipe_key.Wildcard());
    if (map.empty()) {
      keys.push_back(recipe_key.key);
      continue;
    }
    for (const ConfigField& field : config) {
      keys.push_back(absl::StrCat(map, ".", field.key));
    }
  }
  // "a.x" may be named beside "a.*".
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace slipway::plan
