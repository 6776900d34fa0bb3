#include "trainer/recipe/diff.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace slipway::recipe {
namespace {

std::string Joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : absl::StrCat(path, ".", key);
}

void Compare(const std::string& path, const Node& before, const Node& after,
             std::vector<Change>& changes) {
  if (!before.is_map() || !after.is_map()) {
    if (before == after) return;
    changes.push_back({.key = path, .before = before, .after = after});
    return;
  }
  for (const Node::Entry& entry : after.entries()) {
    const std::string key = Joined(path, entry.key);
    if (const Node* old = before.Find(entry.key)) {
      Compare(key, *old, entry.value, changes);
    } else {
      changes.push_back({.key = key, .after = entry.value});
    }
  }
  for (const Node::Entry& entry : before.entries()) {
    if (after.Find(entry.key) != nullptr) continue;
    changes.push_back({.key = Joined(path, entry.key), .before = entry.value});
  }
}

std::string Display(const std::optional<Node>& node) {
  return node ? node->ToDisplay() : "(nothing)";
}

nlohmann::ordered_json JsonOf(const std::optional<Node>& node) {
  return node ? node->ToJson() : nlohmann::ordered_json();
}

bool HasPlace(const Change& change) {
  return change.after && !change.after->mark().file.empty();
}

}  // namespace

std::vector<Change> CompareNodes(const Node& before, const Node& after) {
  std::vector<Change> changes;
  Compare("", before, after, changes);
  return changes;
}

std::string FormatChange(const Change& change) {
  std::string text = absl::StrCat(change.key, ": ", Display(change.before),
                                  " -> ", Display(change.after));
  if (HasPlace(change)) {
    absl::StrAppend(&text, " (", ToString(change.after->mark()), ")");
  }
  return text;
}

nlohmann::ordered_json ToJson(const Change& change) {
  return {{"key", change.key},
          {"before", JsonOf(change.before)},
          {"after", JsonOf(change.after)},
          {"where", HasPlace(change)
                        ? nlohmann::ordered_json(ToString(change.after->mark()))
                        : nlohmann::ordered_json()}};
}

}  // namespace slipway::recipe
