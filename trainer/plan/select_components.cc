#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/components.h"
#include "trainer/plan/draft.h"
#include "trainer/plan/names.h"
#include "trainer/plan/select.h"

namespace slipway::plan {
namespace {

// A component, and every place that names it.
struct Need {
  std::string kind;
  std::string name;
  std::vector<Mark> where;
};

// "model" for "models".
std::string Singular(const std::string& kind) {
  if (kind == "datasets") return "data set";
  return kind.substr(0, kind.size() - (kind.ends_with("sses") ? 2 : 1));
}

std::vector<Need> NeedsOf(const recipe::Node& recipe) {
  std::vector<Need> needs;
  for (const ComponentUse& use : ComponentsOf(recipe)) {
    const auto same = [&use](const Need& need) {
      return need.kind == use.kind && need.name == use.name;
    };
    auto need = std::find_if(needs.begin(), needs.end(), same);
    if (need == needs.end()) {
      need = needs.insert(needs.end(), {use.kind, use.name, {}});
    }
    need->where.push_back(use.where);
  }
  return needs;
}

const std::vector<std::string>& NamesOf(const Manifest& manifest,
                                        const std::string& kind) {
  static const auto* const none = new std::vector<std::string>;
  const auto found = manifest.components.find(kind);
  return found == manifest.components.end() ? *none : found->second;
}

// Those that have exactly the name; if nobody has, those that have it but for
// case and separators.
std::vector<const Manifest*> HoldersOf(const Need& need, const Draft& draft) {
  std::vector<const Manifest*> exact, alike;
  for (const Manifest* manifest : draft.manifests) {
    const std::vector<std::string>& names = NamesOf(*manifest, need.kind);
    const std::optional<size_t> match = MatchName(need.name, names);
    if (!match) continue;
    (names[*match] == need.name ? exact : alike).push_back(manifest);
  }
  return exact.empty() ? alike : exact;
}

std::string HintFor(const std::string& name,
                    const std::vector<std::string>& known) {
  constexpr size_t kFew = 20;
  const std::string hint = DidYouMean(name, known);
  if (!hint.empty() || known.empty() || known.size() > kFew) return hint;
  return "known are " + absl::StrJoin(known, ", ");
}

void ComplainOfUnknown(const Need& need, Draft& draft) {
  std::vector<std::string> known;
  for (const Manifest* manifest : draft.manifests) {
    const std::vector<std::string>& names = NamesOf(*manifest, need.kind);
    known.insert(known.end(), names.begin(), names.end());
  }
  const std::string what = Singular(need.kind);
  draft.problems.push_back(
      {.kind = "not_found",
       .message = absl::StrCat("no ", what, " \"", need.name, "\""),
       .detail = absl::StrCat("no plugin has this ", what, "; ",
                              WhatThereIs(draft.Ids(), draft.searched)),
       .where = need.where,
       .hint = HintFor(need.name, known)});
}

void ComplainOfSeveral(const Need& need,
                       const std::vector<const Manifest*>& holders,
                       Draft& draft) {
  Problem problem = {.kind = "conflict", .where = need.where};
  for (const Manifest* holder : holders) {
    problem.plugins.push_back(holder->id);
    problem.where.push_back(holder->MarkOf("components"));
  }
  const std::string what = Singular(need.kind);
  problem.message =
      absl::StrCat("several plugins have a ", what, " \"", need.name, "\"");
  problem.detail =
      absl::StrCat("they are ", absl::StrJoin(problem.plugins, ", "));
  problem.hint =
      absl::StrCat("say which: plugins.", problem.plugins[0], ": {}");
  draft.problems.push_back(std::move(problem));
}

void ComplainOfOff(const Need& need, const Manifest& holder, Draft& draft) {
  Problem problem = {.kind = "requires", .where = need.where};
  problem.message = absl::StrCat("the ", Singular(need.kind), " \"", need.name,
                                 "\" needs plugin \"", holder.id,
                                 "\", which is switched off");
  for (const SectionEntry* entry : draft.section.Of(holder.id)) {
    problem.where.push_back(entry->where);
  }
  problem.hint = absl::StrCat("remove plugins.", holder.id);
  problem.plugins = {holder.id};
  draft.problems.push_back(std::move(problem));
}

// Where several have it, those that run anyhow.
std::vector<const Manifest*> Preferred(
    const std::vector<const Manifest*>& holders, const Draft& draft) {
  std::vector<const Manifest*> running;
  for (const Manifest* holder : holders) {
    if (draft.FindChosen(holder->id) != nullptr) running.push_back(holder);
  }
  return running.empty() ? holders : running;
}

}  // namespace

void SelectComponents(Draft& draft) {
  std::map<std::string, std::pair<const Manifest*, Mark>> added;
  for (const Need& need : NeedsOf(draft.recipe)) {
    const std::vector<const Manifest*> holders =
        Preferred(HoldersOf(need, draft), draft);
    if (holders.empty()) {
      ComplainOfUnknown(need, draft);
    } else if (holders.size() > 1) {
      ComplainOfSeveral(need, holders, draft);
    } else if (draft.section.SwitchesOff(holders[0]->id)) {
      ComplainOfOff(need, *holders[0], draft);
    } else if (draft.FindChosen(holders[0]->id) == nullptr) {
      added.try_emplace(holders[0]->id, holders[0], need.where[0]);
    }
  }
  for (const auto& [id, plugin] : added) {
    draft.Add(*plugin.first, Because::kComponent, plugin.second);
  }
}

}  // namespace slipway::plan
