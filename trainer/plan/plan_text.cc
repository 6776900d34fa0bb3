#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/plan.h"

namespace slipway::plan {
namespace {

std::string ReasonOf(const PlannedPlugin& plugin) {
  const std::string where = ToString(plugin.where);
  const std::string at = where.empty() ? "" : absl::StrCat(" at ", where);
  switch (plugin.because) {
    case Because::kRecipe:
      return absl::StrCat("section plugins", at);
    case Because::kRecipeKey:
      // Nobody wrote it: the manifest makes a rule of what the world is like.
      return absl::StrCat("a recipe key", where.empty() ? "'s default" : at);
    case Because::kRequires:
      return absl::StrCat("required", at);
    case Because::kComponent:
      break;
  }
  return absl::StrCat("a component", at);
}

std::string ConfigOf(const PlannedPlugin& plugin) {
  std::vector<std::string> parts;
  for (const recipe::Node::Entry& entry : plugin.config.entries()) {
    if (entry.value.is_null()) continue;
    parts.push_back(absl::StrCat(entry.key, " ", entry.value.ToDisplay()));
  }
  return absl::StrJoin(parts, ", ");
}

void AppendPlugin(const PlannedPlugin& plugin, std::string& out) {
  absl::StrAppendFormat(&out, "  %-24s %-8s %s\n", plugin.id,
                        ToString(plugin.version), ReasonOf(plugin));
  const std::string config = ConfigOf(plugin);
  if (!config.empty()) absl::StrAppend(&out, "    ", config, "\n");
  if (plugin.on_error == OnError::kFail) return;
  absl::StrAppend(&out, "    on_error ", std::string(Name(plugin.on_error)),
                  "\n");
}

void AppendRow(std::string_view name, std::string_view value,
               std::string& out) {
  absl::StrAppendFormat(&out, "  %-24s %s\n", std::string(name),
                        std::string(value));
}

void AppendLines(std::string_view title, const std::vector<std::string>& lines,
                 std::string& out) {
  if (lines.empty()) return;
  absl::StrAppend(&out, std::string(title), "\n");
  for (const std::string& line : lines) absl::StrAppend(&out, "  ", line, "\n");
}

}  // namespace

std::string FormatPlan(const Plan& plan) {
  std::string out = absl::StrCat("plan ", plan.hash.substr(0, 12), "\n");
  if (plan.plugins.empty()) absl::StrAppend(&out, "  no plugins\n");
  for (const PlannedPlugin& plugin : plan.plugins) AppendPlugin(plugin, out);
  if (!plan.order.empty()) absl::StrAppend(&out, "order\n");
  for (const std::string& hook : HookNames()) {
    const auto ids = plan.order.find(hook);
    if (ids == plan.order.end()) continue;
    AppendRow(hook, absl::StrJoin(ids->second, " "), out);
  }
  if (!plan.claims.empty()) absl::StrAppend(&out, "claims\n");
  for (const auto& [slot, id] : plan.claims) AppendRow(slot, id, out);
  AppendLines("effects", plan.effects, out);
  AppendLines("tainted by plugins.allow", plan.tainted, out);
  return out + FormatProblems(plan.problems);
}

}  // namespace slipway::plan
