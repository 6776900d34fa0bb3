#include "trainer/plan/relate.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/draft.h"

namespace slipway::plan {
namespace {

// Two plugins that one of them, or each, says cannot be used together.
struct Clash {
  const Chosen* first;
  const Chosen* second;
  std::vector<std::pair<const Chosen*, const Relation*>> declared;

  bool IsOf(const Chosen& a, const Chosen& b) const {
    return (first == &a && second == &b) || (first == &b && second == &a);
  }
};

// The other plugins that a relation is about.
std::vector<const Chosen*> Concerned(const Chosen& plugin,
                                     const Relation& relation,
                                     const Draft& draft) {
  if (relation.with.empty()) return {};
  std::vector<const Chosen*> others = draft.Others(plugin, relation.with);
  std::erase_if(others, [&relation](const Chosen* other) {
    return relation.version &&
           !relation.version->Contains(other->manifest.version);
  });
  return others;
}

// Those with which there is the conflict or warning, as things are.
std::vector<const Chosen*> Opponents(const Chosen& plugin,
                                     const Relation& relation,
                                     const Draft& draft) {
  if (!draft.Holds(relation.when)) return {};
  return Concerned(plugin, relation, draft);
}

std::vector<Clash> ClashesIn(const Draft& draft) {
  std::vector<Clash> clashes;
  for (const Chosen& plugin : draft.chosen) {
    for (const Relation& relation : plugin.manifest.conflicts) {
      for (const Chosen* other : Opponents(plugin, relation, draft)) {
        const auto same = [&](const Clash& c) {
          return c.IsOf(plugin, *other);
        };
        auto clash = std::find_if(clashes.begin(), clashes.end(), same);
        if (clash == clashes.end()) {
          clash = clashes.insert(clashes.end(), {&plugin, other, {}});
        }
        clash->declared.emplace_back(&plugin, &relation);
      }
    }
  }
  return clashes;
}

Problem ProblemOf(const Clash& clash) {
  const std::string a = clash.first->id(), b = clash.second->id();
  Problem problem = {
      .kind = "conflict",
      .message = absl::StrCat("plugins \"", a, "\" and \"", b,
                              "\" cannot be used together"),
      .where = {clash.first->planned.where, clash.second->planned.where},
      .plugins = {a, b}};
  std::vector<std::string> reasons, fixes;
  for (const auto& [plugin, relation] : clash.declared) {
    reasons.push_back(absl::StrCat(plugin->id(), " ",
                                   ToString(plugin->planned.version), ": ",
                                   relation->reason));
    if (!relation->fix.empty()) fixes.push_back(relation->fix);
    problem.where.push_back(relation->mark);
  }
  if (fixes.empty()) fixes = {"drop one of them"};
  problem.detail = absl::StrJoin(reasons, "\n");
  problem.hint =
      absl::StrCat(absl::StrJoin(fixes, "; "), ", or add plugins.allow: [\"", a,
                   "+", b, ": <why it does no harm>\"]");
  return problem;
}

// A conflict or warning that a condition of the world alone brings about.
Problem ProblemHere(const Chosen& plugin, const Relation& relation) {
  return {.kind = "conflict",
          .message =
              absl::StrCat("plugin \"", plugin.id(), "\": ", relation.reason),
          .detail = absl::StrCat("this is so while ", relation.when->text()),
          .where = {plugin.planned.where, relation.mark},
          .hint = relation.fix,
          .plugins = {plugin.id()}};
}

void CheckWorld(const std::vector<Relation> Manifest::*relations,
                Severity severity, Draft& draft) {
  for (const Chosen& plugin : draft.chosen) {
    for (const Relation& relation : plugin.manifest.*relations) {
      if (!relation.with.empty() || !draft.Holds(relation.when)) continue;
      Problem problem = ProblemHere(plugin, relation);
      problem.severity = severity;
      draft.problems.push_back(std::move(problem));
    }
  }
}

void WarnOfUnused(const std::set<const Allowance*>& used, Draft& draft) {
  for (const Allowance& allowance : draft.section.allow) {
    if (used.count(&allowance) > 0) continue;
    draft.problems.push_back(
        {.kind = "conflict",
         .severity = Severity::kWarning,
         .message = absl::StrCat("plugins.allow permits \"", allowance.first,
                                 "+", allowance.second,
                                 "\", which is no conflict in this plan"),
         .where = {allowance.where},
         .hint = "remove it"});
  }
}

// The claim by which `plugin` holds `slot` now; null if it does not.
const Claim* ClaimOn(const std::string& slot, const Chosen& plugin,
                     const Draft& draft) {
  for (const Claim& claim : plugin.manifest.claims) {
    if (claim.slot == slot && draft.Holds(claim.when)) return &claim;
  }
  return nullptr;
}

void ComplainOfHolders(
    const std::string& slot,
    const std::vector<std::pair<const Chosen*, const Claim*>>& holders,
    Draft& draft) {
  Problem problem = {.kind = "claim"};
  for (const auto& [plugin, claim] : holders) {
    problem.plugins.push_back(plugin->id());
    problem.where.push_back(plugin->planned.where);
  }
  for (const auto& [plugin, claim] : holders) {
    problem.where.push_back(claim->mark);
  }
  problem.message = absl::StrCat("\"", slot, "\" is claimed by ",
                                 absl::StrJoin(problem.plugins, " and by "),
                                 "; only one may hold it");
  problem.hint = "drop all but one; plugins.allow cannot permit this";
  draft.problems.push_back(std::move(problem));
}

void CheckTogether(const Chosen& plugin, const Relation& relation,
                   Draft& draft) {
  for (const Chosen* other : Opponents(plugin, relation, draft)) {
    draft.problems.push_back(
        {.kind = "conflict",
         .severity = Severity::kWarning,
         .message = absl::StrCat("plugin \"", plugin.id(), "\" with \"",
                                 other->id(), "\": ", relation.reason),
         .where = {plugin.planned.where, other->planned.where, relation.mark},
         .hint = relation.fix,
         .plugins = {plugin.id(), other->id()}});
  }
}

void Recommend(const Chosen& plugin, const Relation& relation, Draft& draft) {
  const bool missing =
      draft.Holds(relation.when) && Concerned(plugin, relation, draft).empty();
  if (!missing) return;
  draft.problems.push_back(
      {.kind = "requires",
       .severity = Severity::kNote,
       .message = absl::StrCat("plugin \"", plugin.id(), "\" recommends \"",
                               relation.with, "\": ", relation.reason),
       .where = {plugin.planned.where, relation.mark},
       .hint = relation.fix,
       .plugins = {plugin.id()}});
}

}  // namespace

std::vector<std::string> CheckConflicts(Draft& draft) {
  std::set<const Allowance*> used;
  std::vector<std::string> tainted;
  for (const Clash& clash : ClashesIn(draft)) {
    Problem problem = ProblemOf(clash);
    for (const Allowance& allowance : draft.section.allow) {
      if (!allowance.Concerns(clash.first->id(), clash.second->id())) continue;
      problem.severity = Severity::kWarning;
      problem.hint = absl::StrCat("permitted by plugins.allow, \"",
                                  allowance.text, "\": this run is tainted");
      if (used.insert(&allowance).second) tainted.push_back(allowance.text);
    }
    draft.problems.push_back(std::move(problem));
  }
  WarnOfUnused(used, draft);
  CheckWorld(&Manifest::conflicts, Severity::kError, draft);
  return tainted;
}

std::map<std::string, std::string> CheckClaims(Draft& draft) {
  std::map<std::string, std::string> holders;
  for (const std::string& slot : ClaimNames()) {
    std::vector<std::pair<const Chosen*, const Claim*>> found;
    for (const Chosen& plugin : draft.chosen) {
      const Claim* const claim = ClaimOn(slot, plugin, draft);
      if (claim != nullptr) found.emplace_back(&plugin, claim);
    }
    if (!found.empty()) holders[slot] = found[0].first->id();
    if (found.size() > 1) ComplainOfHolders(slot, found, draft);
  }
  return holders;
}

void CheckWarnings(Draft& draft) {
  CheckWorld(&Manifest::warns, Severity::kWarning, draft);
  for (const Chosen& plugin : draft.chosen) {
    for (const Relation& relation : plugin.manifest.warns) {
      CheckTogether(plugin, relation, draft);
    }
    for (const Relation& relation : plugin.manifest.recommends) {
      Recommend(plugin, relation, draft);
    }
  }
}

}  // namespace slipway::plan
