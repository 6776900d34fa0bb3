#include "trainer/plan/plan.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/draft.h"
#include "trainer/plan/order.h"
#include "trainer/plan/relate.h"
#include "trainer/plan/require.h"
#include "trainer/plan/select.h"
#include "trainer/plan/sha256.h"

namespace slipway::plan {
namespace {

std::vector<std::string> EffectsOf(const Draft& draft) {
  std::vector<std::string> effects;
  for (const Chosen& plugin : draft.chosen) {
    for (const auto& [on, effect] : plugin.manifest.effects) {
      effects.push_back(absl::StrCat(plugin.id(), ": ", on, ": ", effect));
    }
  }
  return effects;
}

// Keys sorted, no spaces: the same plan is the same text everywhere.
std::string HashOf(const Plan& plan) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const PlannedPlugin& plugin : plan.plugins) {
    plugins.push_back({{"id", plugin.id},
                       {"version", ToString(plugin.version)},
                       {"config", plugin.config.ToJson()}});
  }
  const nlohmann::json canonical = {{"plugins", std::move(plugins)},
                                    {"order", plan.order}};
  return Sha256(
      canonical.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::optional<Plan> ResolvePlan(const std::vector<Manifest>& manifests,
                                const recipe::Node& recipe,
                                const Environment& environment,
                                Problems& problems,
                                const std::vector<std::string>& searched) {
  Problems found;
  Draft draft(manifests, recipe, environment, searched, found);
  SelectPlugins(draft);
  RequirePlugins(draft);
  CheckPlugins(draft);
  Plan plan;
  plan.tainted = CheckConflicts(draft);
  plan.claims = CheckClaims(draft);
  CheckWarnings(draft);
  plan.order = OrderHooks(draft);
  plan.effects = EffectsOf(draft);
  if (HasErrors(found)) {
    problems.insert(problems.end(), found.begin(), found.end());
    return std::nullopt;
  }
  for (Chosen& plugin : draft.chosen) {
    plan.plugins.push_back(std::move(plugin.planned));
  }
  plan.problems = std::move(found);
  plan.hash = HashOf(plan);
  return plan;
}

}  // namespace slipway::plan
