// A launch's plan as text and as JSON.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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
  for (int rank = 0; rank < plan.world_size(); ++rank) {
    Variables own =
        RankEnvironment(plan.NodeOf(rank).environment, plan.PlacementOf(rank))
            .set;
    if (rank == 0) common = std::move(own);
    std::erase_if(common, [&own, rank](const auto& variable) {
      const auto it = own.find(variable.first);
      return rank > 0 && (it == own.end() || it->second != variable.second);
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

ordered_json ToJson(const RankPlacement& rank, const NodePlan& node) {
  ordered_json env = ordered_json::object();
  for (const auto& [name, value] :
       RankEnvironment(node.environment, rank).set) {
    env[name] = value;
  }
  return {{"rank", node.environment.first_rank + rank.rank},
          {"local_rank", rank.rank},
          {"node", node.host},
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
  for (const NodePlan& node : plan.nodes) {
    for (const UnusedCpu& cpu : node.placement.unused) {
      unused.push_back(
          {{"node", node.host}, {"cpu", cpu.cpu}, {"reason", cpu.reason}});
    }
  }
  return unused;
}

// A node's part of the table; of several, with a line that names it.
std::string FormatNode(const NodePlan& node, bool alone) {
  const int first = node.environment.first_rank;
  const size_t ranks = node.placement.ranks.size();
  std::string name;
  if (!alone) {
    name = absl::StrCat("node ", node.environment.group_rank, ": ", node.host,
                        ", ranks ", first, " to ", first + ranks - 1, "\n");
  }
  return absl::StrCat(name, FormatPlacement(node.placement, first));
}

std::string Nodes(const LaunchPlan& plan) {
  return plan.nodes.size() == 1 ? plan.nodes[0].host
                                : absl::StrCat(plan.nodes.size(), " nodes");
}

ordered_json BundlesToJson(const LaunchPlan& plan) {
  if (!plan.bundles) return nullptr;
  return {{"strategy", plan.bundles->strategy},
          {"resources", plan.bundles->resources}};
}

std::string FormatBundles(const Bundles& bundles, int ranks) {
  return absl::StrCat("bundles: ", ranks, " of ",
                      absl::StrJoin(bundles.resources, ",",
                                    [](std::string* out, const auto& one) {
                                      absl::StrAppend(out, one.first, "=",
                                                      one.second);
                                    }),
                      ", ", bundles.strategy, "\n");
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
      Nodes(plan), ", policy ", std::string(Name(plan.policy)), "\n");
  if (plan.bundles) {
    absl::StrAppend(&text, FormatBundles(*plan.bundles, plan.world_size()));
  }
  for (const NodePlan& node : plan.nodes) {
    absl::StrAppend(&text, FormatNode(node, plan.nodes.size() == 1));
  }
  if (plan.batch) {
    absl::StrAppend(&text, FormatBatch(*plan.batch, plan.world_size()));
  }
  absl::StrAppend(&text, FormatEnvironment(plan));
  if (plan.plugins) absl::StrAppend(&text, FormatPlan(*plan.plugins));
  return text;
}

ordered_json ToJson(const LaunchPlan& plan) {
  ordered_json nodes = ordered_json::array();
  ordered_json ranks = ordered_json::array();
  for (const NodePlan& node : plan.nodes) {
    nodes.push_back(node.host);
    for (const RankPlacement& rank : node.placement.ranks) {
      ranks.push_back(ToJson(rank, node));
    }
  }
  return {{"schema", 1},
          {"backend", plan.backend},
          {"bundles", BundlesToJson(plan)},
          {"policy", Name(plan.policy)},
          {"world_size", plan.world_size()},
          {"nodes", std::move(nodes)},
          {"ranks", std::move(ranks)},
          {"unused", UnusedToJson(plan)},
          {"batch", BatchToJson(plan)},
          {"plugin_plan",
           plan.plugins ? plan::ToJson(*plan.plugins) : ordered_json()},
          {"problems", slipway::ToJson(plan.problems)}};
}

ordered_json RefusedPlan(const Problems& problems) {
  return ToJson(LaunchPlan{.problems = problems});
}

}  // namespace slipway::launcher
