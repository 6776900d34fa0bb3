// A launch's plan as text and as JSON.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "launcher/launch_plan.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using nlohmann::ordered_json;
using Variables = std::map<std::string, std::string>;

std::string FormatBatch(const BatchSize& batch, int ranks) {
  return absl::StrFormat(
      "batch: %d samples a step (%d rank%s of %d%s)\n", batch.Effective(ranks),
      ranks, ranks == 1 ? "" : "s", batch.per_rank,
      batch.accumulate == 1
          ? ""
          : absl::StrCat(", accumulated over ", batch.accumulate, " batches"));
}

// What all ranks have in common.
Variables CommonVariables(const LaunchPlan& plan) {
  Variables common;
  for (const RankPlacement& rank : plan.placement.ranks) {
    Variables own = RankEnvironment(plan.environment, rank).set;
    if (rank.rank == 0) common = std::move(own);
    std::erase_if(common, [&own, &rank](const auto& variable) {
      const auto it = own.find(variable.first);
      return rank.rank > 0 &&
             (it == own.end() || it->second != variable.second);
    });
  }
  return common;
}

std::string FormatEnvironment(const LaunchPlan& plan) {
  std::string text = "environment of every rank:\n";
  for (const auto& [name, value] : CommonVariables(plan)) {
    absl::StrAppend(&text, "  ", name, "=", value, "\n");
  }
  return text;
}

ordered_json ToJson(const RankPlacement& rank, const LaunchPlan& plan) {
  ordered_json env = ordered_json::object();
  for (const auto& [name, value] :
       RankEnvironment(plan.environment, rank).set) {
    env[name] = value;
  }
  return {{"rank", rank.rank},
          {"local_rank", rank.rank},
          {"node", plan.host},
          {"cpus", rank.cpus.ToVector()},
          {"packages", rank.packages},
          {"numa_nodes", rank.numa_nodes},
          {"memory_nodes", rank.memory_nodes},
          {"threads", rank.threads},
          {"gpu", rank.gpu ? ordered_json(*rank.gpu) : ordered_json()},
          {"straddles", rank.straddles},
          {"env", std::move(env)}};
}

ordered_json UnusedToJson(const LaunchPlan& plan) {
  ordered_json unused = ordered_json::array();
  for (const UnusedCpu& cpu : plan.placement.unused) {
    unused.push_back(
        {{"node", plan.host}, {"cpu", cpu.cpu}, {"reason", cpu.reason}});
  }
  return unused;
}

ordered_json BatchToJson(const LaunchPlan& plan) {
  if (!plan.batch) return nullptr;
  return {{"per_rank", plan.batch->per_rank},
          {"accumulate", plan.batch->accumulate},
          {"effective", plan.batch->Effective(plan.world_size())}};
}

}  // namespace

std::string FormatLaunchPlan(const LaunchPlan& plan) {
  std::string text = absl::StrCat(
      plan.world_size(), plan.world_size() == 1 ? " rank" : " ranks", " on ",
      plan.host, ", policy ", std::string(Name(plan.policy)), "\n",
      FormatPlacement(plan.placement));
  if (plan.batch) {
    absl::StrAppend(&text, FormatBatch(*plan.batch, plan.world_size()));
  }
  absl::StrAppend(&text, FormatEnvironment(plan));
  if (plan.plugins) absl::StrAppend(&text, FormatPlan(*plan.plugins));
  return text;
}

ordered_json ToJson(const LaunchPlan& plan) {
  ordered_json ranks = ordered_json::array();
  for (const RankPlacement& rank : plan.placement.ranks) {
    ranks.push_back(ToJson(rank, plan));
  }
  return {{"schema", 1},
          {"backend", "subprocess"},
          {"policy", Name(plan.policy)},
          {"world_size", plan.world_size()},
          {"nodes", {plan.host}},
          {"ranks", std::move(ranks)},
          {"unused", UnusedToJson(plan)},
          {"batch", BatchToJson(plan)},
          {"plugin_plan",
           plan.plugins ? plan::ToJson(*plan.plugins) : ordered_json()},
          {"problems", slipway::ToJson(plan.problems)}};
}

ordered_json RefusedPlan(const Problems& problems) {
  ordered_json document = ToJson(LaunchPlan{.problems = problems});
  document["nodes"] = ordered_json::array();
  return document;
}

}  // namespace slipway::launcher
