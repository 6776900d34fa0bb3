// What of two environments a rank on another machine gets.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "launcher/agent/agent.h"

namespace slipway::launcher {
namespace {

// What Ray sets for its workers, which a rank is not. OMP_NUM_THREADS is set by
// the plan; the user's PYTHONPATH comes with the user's variables.
bool IsOfRay(const std::string& name) {
  return name == "LD_LIBRARY_PATH" || name == "PYTHONPATH" ||
         name == "PYTHONUNBUFFERED" || absl::StartsWith(name, "RAY_");
}

std::map<std::string, std::string> ByName(
    const std::vector<std::string>& entries) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : entries) {
    const size_t end = entry.find('=');
    if (end != entry.npos) variables[entry.substr(0, end)] = entry;
  }
  return variables;
}

}  // namespace

std::vector<std::string> EnvironmentOnNode(const std::vector<std::string>& node,
                                           const std::vector<std::string>& user,
                                           const EnvironmentPlan& plan) {
  std::map<std::string, std::string> base = ByName(node);
  std::erase_if(base, [](const auto& entry) { return IsOfRay(entry.first); });
  for (const auto& [name, entry] : ByName(user)) {
    if (absl::StartsWith(name, "RAY_")) continue;
    if (absl::StartsWith(name, "SLIPWAY_")) base[name] = entry;
    base.emplace(name, entry);
  }
  std::vector<std::string> entries;
  for (const auto& [name, entry] : base) entries.push_back(entry);
  return Apply(plan, entries);
}

}  // namespace slipway::launcher
