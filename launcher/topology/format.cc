// A topology as text and as JSON.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "launcher/topology/topology.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using nlohmann::ordered_json;

std::string_view Name(Topology::Source source) {
  switch (source) {
    case Topology::Source::kNative:
      return "native";
    case Topology::Source::kSynthetic:
      return "synthetic";
    case Topology::Source::kXml:
      return "xml";
  }
  return "";
}

// "0,8  1,9  (2,10)": the hardware threads of each core, those that are not
// allowed in parentheses.
std::string FormatCores(const CacheGroup& group, const CpuSet& allowed) {
  return absl::StrJoin(
      group.cores, "  ", [&allowed](std::string* out, const Core& core) {
        const bool usable = !CpuSet(core.cpus).Intersection(allowed).empty();
        absl::StrAppend(out, usable ? "" : "(", absl::StrJoin(core.cpus, ","),
                        usable ? "" : ")");
      });
}

ordered_json ToJson(const NumaNode& node) {
  ordered_json groups = ordered_json::array();
  for (const CacheGroup& group : node.l3) {
    ordered_json cores = ordered_json::array();
    for (const Core& core : group.cores) {
      cores.push_back({{"id", core.id}, {"cpus", core.cpus}});
    }
    groups.push_back({{"id", group.id}, {"cores", std::move(cores)}});
  }
  return {{"id", node.id},
          {"memory_bytes", node.memory_bytes},
          {"l3", std::move(groups)}};
}

}  // namespace

std::string FormatTopology(const Topology& topology) {
  std::string text;
  for (const Package& package : topology.packages) {
    absl::StrAppend(&text, "package ", package.id, "\n");
    for (const NumaNode& node : package.numa_nodes) {
      absl::StrAppendFormat(&text, "  NUMA node %d  %.1f GB\n", node.id,
                            static_cast<double>(node.memory_bytes) / 1e9);
      for (const CacheGroup& group : node.l3) {
        absl::StrAppend(&text, "    L3 ", group.id, "  cores ",
                        FormatCores(group, topology.allowed_cpus), "\n");
      }
    }
  }
  for (const Gpu& gpu : topology.gpus) {
    absl::StrAppend(&text, "GPU ", gpu.index, "  ", gpu.pci, "  NUMA node ",
                    gpu.numa_node, "\n");
  }
  absl::StrAppend(&text, "allowed CPUs: ", topology.allowed_cpus.ToString(),
                  "\n");
  if (topology.quota_cpus) {
    absl::StrAppendFormat(&text, "CPU quota: %.2f CPUs\n",
                          *topology.quota_cpus);
  }
  return text;
}

ordered_json ToJson(const Topology& topology) {
  ordered_json packages = ordered_json::array();
  for (const Package& package : topology.packages) {
    ordered_json nodes = ordered_json::array();
    for (const NumaNode& node : package.numa_nodes) {
      nodes.push_back(ToJson(node));
    }
    packages.push_back({{"id", package.id}, {"numa_nodes", std::move(nodes)}});
  }
  ordered_json gpus = ordered_json::array();
  for (const Gpu& gpu : topology.gpus) {
    gpus.push_back(
        {{"index", gpu.index}, {"pci", gpu.pci}, {"numa_node", gpu.numa_node}});
  }
  return {
      {"schema", 1},
      {"source", Name(topology.source)},
      {"packages", std::move(packages)},
      {"allowed_cpus", topology.allowed_cpus.ToVector()},
      {"quota_cpus", topology.quota_cpus ? ordered_json(*topology.quota_cpus)
                                         : ordered_json()},
      {"gpus", std::move(gpus)}};
}

}  // namespace slipway::launcher
