#include <string>

#include "nlohmann/json.hpp"
#include "trainer/plan/plan.h"

namespace slipway::plan {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const PlannedPlugin& plugin) {
  return {{"id", plugin.id},
          {"version", ToString(plugin.version)},
          {"status", std::string(Name(plugin.status))},
          {"manifest", plugin.manifest},
          {"library", plugin.library},
          {"because", std::string(Name(plugin.because))},
          {"on_error", std::string(Name(plugin.on_error))},
          {"config", plugin.config.ToJson()}};
}

}  // namespace

Json ToJson(const Plan& plan) {
  Json plugins = Json::array();
  for (const PlannedPlugin& plugin : plan.plugins) {
    plugins.push_back(ToJson(plugin));
  }
  // In the order in which a training calls them.
  Json order = Json::object();
  for (const std::string& hook : HookNames()) {
    const auto ids = plan.order.find(hook);
    if (ids != plan.order.end()) order[hook] = ids->second;
  }
  return {{"schema", 1},
          {"hash", plan.hash},
          {"plugins", std::move(plugins)},
          {"order", std::move(order)},
          {"claims", plan.claims},
          {"effects", plan.effects},
          {"tainted", plan.tainted},
          {"problems", slipway::ToJson(plan.problems)}};
}

}  // namespace slipway::plan
