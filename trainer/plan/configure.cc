#include "trainer/plan/configure.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/plan/draft.h"
#include "trainer/recipe/params.h"

namespace slipway::plan {
namespace {

using recipe::Node;

void AddSetting(Setting setting, std::vector<Setting>& settings) {
  if (!setting.value.is_null()) settings.push_back(std::move(setting));
}

// A key that the manifest names by itself is not one of the many.
void AddWildcard(const Manifest& manifest, const RecipeKey& key,
                 const Draft& draft, std::vector<Setting>& settings) {
  const std::string path(key.Wildcard());
  const Node* const map = draft.recipe.FindPath(path);
  if (map == nullptr) return;
  for (const Node::Entry& entry : map->entries()) {
    const std::string name = absl::StrCat(path, ".", entry.key);
    const auto is_it = [&](const RecipeKey& other) {
      return other.key == name;
    };
    if (std::any_of(manifest.recipe_keys.begin(), manifest.recipe_keys.end(),
                    is_it)) {
      continue;
    }
    AddSetting({entry.key, entry.value, name, entry.key_mark, key.weak},
               settings);
  }
}

void AddRecipeKey(const RecipeKey& key, const Draft& draft,
                  std::vector<Setting>& settings) {
  if (key.config.empty()) return;
  const Node* const given = draft.recipe.FindPath(key.key);
  if (given != nullptr && !given->is_null()) {
    AddSetting({key.config, *given, key.key, given->mark(), key.weak},
               settings);
  } else if (key.when && draft.Holds(key.when)) {
    AddSetting(
        {key.config, Node::Bool(true, key.mark), key.key, key.mark, true},
        settings);
  }
}

bool SaysTheSame(const Node& a, const Node& b) {
  if (a.is_number() && b.is_number()) return a.AsDouble() == b.AsDouble();
  return a == b;
}

// Whether `b` counts more than `a`.
bool IsBelow(const Setting& a, const Setting& b) {
  if (a.weak != b.weak) return a.weak;
  return a.value.order() < b.value.order();
}

Problem Disagreement(const std::string& id, const Setting& a,
                     const Setting& b) {
  return {.kind = "value",
          .message = absl::StrCat("\"", a.key, "\" of plugin \"", id,
                                  "\" is set twice, and differently"),
          .detail = absl::StrCat(a.name, " is ", a.value.ToDisplay(), ", ",
                                 b.name, " is ", b.value.ToDisplay()),
          .where = {a.where, b.where},
          .hint = "remove one of them",
          .plugins = {id}};
}

// What counts of `settings`, one for each key.
Node Merge(const std::string& id, const std::vector<Setting>& settings,
           Problems& problems) {
  Node merged = Node::Map();
  for (const Setting& setting : settings) {
    if (merged.Find(setting.key) != nullptr) continue;
    const Setting* last = &setting;
    for (const Setting& other : settings) {
      if (other.key == setting.key && IsBelow(*last, other)) last = &other;
    }
    for (const Setting& other : settings) {
      const bool rivals = other.key == last->key && other.weak == last->weak &&
                          other.where.file == last->where.file;
      if (rivals && !SaysTheSame(other.value, last->value)) {
        problems.push_back(Disagreement(id, *last, other));
      }
    }
    merged.Set(setting.key, last->value, last->where);
  }
  return merged;
}

}  // namespace

std::vector<Setting> SettingsOf(const Manifest& manifest, const Draft& draft) {
  std::vector<Setting> settings;
  for (const RecipeKey& key : manifest.recipe_keys) {
    if (key.Wildcard().empty()) {
      AddRecipeKey(key, draft, settings);
    } else {
      AddWildcard(manifest, key, draft, settings);
    }
  }
  for (const SectionEntry* entry : draft.section.Of(manifest.id)) {
    for (const Node::Entry& own : entry->config) {
      AddSetting(
          {own.key, own.value,
           absl::StrCat("plugins.", manifest.id, ".", own.key), own.key_mark},
          settings);
    }
  }
  return settings;
}

Node Configure(const Manifest& manifest, const Draft& draft) {
  Problems found;
  const Node given = Merge(manifest.id, SettingsOf(manifest, draft), found);
  recipe::Params params(given, absl::StrCat("plugin \"", manifest.id, "\""),
                        found, "configuration key");
  Node config = Node::Map();
  for (const ConfigField& field : manifest.config) {
    const size_t before = found.size();
    config.Set(field.key, ReadConfigValue(field, given, params));
    for (size_t i = before; i < found.size(); ++i) {
      found[i].where.push_back(field.mark);
    }
  }
  params.Finish();
  for (Problem& problem : found) {
    problem.plugins = {manifest.id};
    draft.problems.push_back(std::move(problem));
  }
  return config;
}

}  // namespace slipway::plan
