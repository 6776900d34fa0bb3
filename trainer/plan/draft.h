// A plan in the making: what the steps of ResolvePlan hand to each other.
//
//   Draft draft(manifests, recipe, environment, searched, problems);
//   SelectPlugins(draft);        // select.h
//   RequirePlugins(draft);       // require.h
//   CheckRelations(draft, ...);  // relate.h
//
// Holds references to all that it is made from. Not thread-safe.
#ifndef SLIPWAY_TRAINER_PLAN_DRAFT_H_
#define SLIPWAY_TRAINER_PLAN_DRAFT_H_

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/planned.h"
#include "trainer/plan/section.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// A plugin that is in the plan.
struct Chosen {
  const Manifest& manifest;
  PlannedPlugin planned;

  const std::string& id() const { return planned.id; }
};

struct Draft {
  Draft(const std::vector<Manifest>& manifests, const recipe::Node& recipe,
        const Environment& environment,
        const std::vector<std::string>& searched, Problems& problems);

  const recipe::Node& recipe;
  const Environment& environment;
  const std::vector<std::string>& searched;
  Problems& problems;
  // By id, whatever order they came in.
  std::vector<const Manifest*> manifests;
  Section section;
  // In load order. Grows; what is in it stays where it is.
  std::deque<Chosen> chosen;

  std::vector<std::string> Ids() const;
  // Null if there is none.
  const Manifest* FindManifest(std::string_view id) const;
  const Chosen* FindChosen(std::string_view id) const;
  // The plugins in the plan, other than `self`, that `name` means: those with
  // that id, or that provide it.
  std::vector<const Chosen*> Others(const Chosen& self,
                                    std::string_view name) const;

  // Adds a plugin to the plan and configures it.
  void Add(const Manifest& manifest, Because because, const Mark& where);

  // What a name in a predicate means here: a field of Environment; a plugin's
  // id (is it in the plan?) or, for one that is, a key of its configuration; a
  // path in the recipe. Null if none of these.
  recipe::Node ValueOf(std::string_view name) const;
  // True without a predicate.
  bool Holds(const std::optional<Predicate>& when) const;
};

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_DRAFT_H_
