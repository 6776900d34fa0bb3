#include "trainer/inspect/why.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/plan.h"

namespace slipway::inspect {
namespace {

using plan::Claim;
using plan::Manifest;
using plan::Relation;

// Whether something that stands at `mark` has been told.
bool IsTold(const Mark& mark, const Problems& problems) {
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& p) {
    return std::find(p.where.begin(), p.where.end(), mark) != p.where.end();
  });
}

// "compile.scope" is about compile.
bool IsAbout(const plan::Predicate& when, const Manifest& plugin) {
  const std::vector<std::string> names = when.Names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == plugin.id || name.starts_with(plugin.id + ".");
  });
}

bool Concerns(const Relation& relation, const Manifest& other) {
  if (relation.with.empty()) return IsAbout(*relation.when, other);
  return other.IsOrProvides(relation.with) &&
         (!relation.version || relation.version->Contains(other.version));
}

class Question {
 public:
  Question(const Manifest& first, const Manifest& second, const World& world)
      : first_(first), second_(second), world_(world) {}

  Together Ask() {
    answer_.first = first_.id;
    answer_.second = second_.id;
    const std::optional<plan::Plan> plan =
        plan::ResolvePlan(world_.manifests, world_.recipe, world_.environment,
                          answer_.problems, world_.searched);
    answer_.together = plan.has_value();
    if (plan) {
      answer_.problems = plan->problems;
      TellClaims(*plan);
      TellOrder(*plan);
    }
    TellConditions(first_, second_);
    TellConditions(second_, first_);
    TellClaimsInCommon();
    return std::move(answer_);
  }

 private:
  void TellClaims(const plan::Plan& plan) {
    for (const Manifest* plugin : {&first_, &second_}) {
      std::vector<std::string> held;
      for (const auto& [slot, id] : plan.claims) {
        if (id == plugin->id) held.push_back(slot);
      }
      answer_.because.push_back(
          absl::StrCat(plugin->id, " claims ",
                       held.empty() ? "nothing" : absl::StrJoin(held, ", ")));
    }
  }

  void TellOrder(const plan::Plan& plan) {
    for (const std::string& hook : plan::HookNames()) {
      const auto found = plan.order.find(hook);
      if (found == plan.order.end()) continue;
      std::vector<std::string> ids;
      for (const std::string& id : found->second) {
        if (id == first_.id || id == second_.id) ids.push_back(id);
      }
      if (ids.size() < 2) continue;
      answer_.because.push_back(
          absl::StrCat("in ", hook, " ", ids[0], " runs before ", ids[1]));
    }
  }

  // Conflicts and warnings that are not there now.
  void TellConditions(const Manifest& plugin, const Manifest& other) {
    for (const Relation& relation : plugin.conflicts) {
      TellCondition("not while ", plugin, relation, other);
    }
    for (const Relation& relation : plugin.warns) {
      TellCondition("a warning while ", plugin, relation, other);
    }
  }

  void TellCondition(const char* what, const Manifest& plugin,
                     const Relation& relation, const Manifest& other) {
    if (!relation.when || !Concerns(relation, other)) return;
    if (IsTold(relation.mark, answer_.problems)) return;
    answer_.problems.push_back(
        {.kind = "conflict",
         .severity = Severity::kNote,
         .message =
             absl::StrCat(what, relation.when->text(), ": ", relation.reason),
         .where = {relation.mark},
         .hint = relation.fix,
         .plugins = {plugin.id, other.id}});
  }

  // Slots that each may hold, under conditions of which one does not hold now.
  void TellClaimsInCommon() {
    for (const Claim& mine : first_.claims) {
      for (const Claim& theirs : second_.claims) {
        if (mine.slot != theirs.slot) continue;
        if (IsTold(mine.mark, answer_.problems)) continue;
        std::vector<std::string> conditions;
        for (const Claim* claim : {&mine, &theirs}) {
          if (claim->when) conditions.push_back(claim->when->text());
        }
        answer_.problems.push_back(
            {.kind = "claim",
             .severity = Severity::kNote,
             .message =
                 absl::StrCat("not while ", absl::StrJoin(conditions, " and "),
                              ": both would claim \"", mine.slot, "\""),
             .where = {mine.mark, theirs.mark},
             .plugins = {first_.id, second_.id}});
      }
    }
  }

  const Manifest& first_;
  const Manifest& second_;
  const World& world_;
  Together answer_;
};

}  // namespace

recipe::Node RecipeOf(const std::string& first, const std::string& second) {
  recipe::Node recipe = recipe::Node::Map();
  const Mark asked = {.file = "--why"};
  recipe::Node& plugins =
      recipe.Set("plugins", recipe::Node::Map(asked), asked);
  for (const std::string& id : {first, second}) {
    plugins.Set(id, recipe::Node::Map(asked), asked);
  }
  plugins.Set("auto_require", recipe::Node::Bool(true, asked), asked);
  return recipe;
}

Together AskWhy(const Manifest& first, const Manifest& second,
                const World& world) {
  return Question(first, second, world).Ask();
}

std::string FormatTogether(const Together& answer) {
  std::string text = absl::StrCat(
      answer.first, " and ", answer.second,
      answer.together ? " may run together\n" : " cannot run together\n");
  for (const std::string& reason : answer.because) {
    absl::StrAppend(&text, "  ", reason, "\n");
  }
  return text;
}

nlohmann::ordered_json ToJson(const Together& answer) {
  return {{"schema", 1},
          {"together", answer.together},
          {"because", answer.because},
          {"problems", slipway::ToJson(answer.problems)}};
}

}  // namespace slipway::inspect
