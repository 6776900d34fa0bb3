#include "trainer/report/html/difference.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::html {
namespace {

using Entries = std::map<std::string, std::string>;

std::vector<Difference> Differences(const std::vector<Entries>& all) {
  std::set<std::string> keys;
  for (const Entries& entries : all) {
    for (const auto& [key, value] : entries) keys.insert(key);
  }
  std::vector<Difference> rows;
  for (const std::string& key : keys) {
    Difference row{.key = key};
    for (const Entries& entries : all) {
      const auto found = entries.find(key);
      row.values.push_back(found == entries.end()
                               ? std::nullopt
                               : std::optional<std::string>(found->second));
    }
    const bool same = std::all_of(
        row.values.begin(), row.values.end(),
        [&row](const auto& value) { return value == row.values.front(); });
    if (!same) rows.push_back(std::move(row));
  }
  return rows;
}

std::string AsText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AddPlugin(const Json& plugin, Entries& entries) {
  const std::string id = AsText(plugin.value("id", Json("?")));
  entries[id] = AsText(plugin.value("version", Json("?")));
  const auto config = plugin.find("config");
  if (config == plugin.end() || !config->is_object()) return;
  for (const auto& [key, value] : config->items()) {
    entries[absl::StrCat(id, ".", key)] = AsText(value);
  }
}

void AddMap(const std::string& prefix, const Json& plan, Entries& entries) {
  const auto found = plan.find(prefix);
  if (found == plan.end() || !found->is_object()) return;
  for (const auto& [key, value] : found->items()) {
    std::vector<std::string> words;
    if (value.is_array()) {
      for (const Json& item : value) words.push_back(AsText(item));
    } else {
      words.push_back(AsText(value));
    }
    entries[absl::StrCat(prefix, ".", key)] = absl::StrJoin(words, " ");
  }
}

Entries PlanEntries(const Json& plan) {
  Entries entries;
  if (!plan.is_object()) return entries;
  const auto plugins = plan.find("plugins");
  if (plugins != plan.end() && plugins->is_array()) {
    for (const Json& plugin : *plugins) {
      if (plugin.is_object()) AddPlugin(plugin, entries);
    }
  }
  AddMap("order", plan, entries);
  AddMap("claims", plan, entries);
  return entries;
}

}  // namespace

std::vector<Difference> RecipeDifferences(const std::vector<RunData>& runs) {
  std::vector<Entries> all;
  for (const RunData& run : runs) all.push_back(run.recipe);
  return Differences(all);
}

std::vector<Difference> PlanDifferences(const std::vector<RunData>& runs) {
  std::vector<Entries> all;
  for (const RunData& run : runs) all.push_back(PlanEntries(run.plan));
  return Differences(all);
}

}  // namespace slipway::html
