// A topology as text and as JSON.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "launcher/topology/topology.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using nlohmann::json;
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

Topology::Source SourceNamed(const std::string& name) {
  for (const auto source :
       {Topology::Source::kSynthetic, Topology::Source::kXml}) {
    if (name == Name(source)) return source;
  }
  return Topology::Source::kNative;
}

CacheGroup CacheGroupFrom(const json& document) {
  CacheGroup group = {.id = document.at("id")};
  for (const json& core : document.at("cores")) {
    group.cores.push_back({core.at("id"), core.at("cpus")});
  }
  return group;
}

NumaNode NumaNodeFrom(const json& document) {
  NumaNode node = {.id = document.at("id"),
                   .memory_bytes = document.at("memory_bytes")};
  for (const json& group : document.at("l3")) {
    node.l3.push_back(CacheGroupFrom(group));
  }
  return node;
}

// Throws what nlohmann::json does for fields that are missing.
Topology FromJson(const json& document) {
  Topology topology = {.source = SourceNamed(document.at("source"))};
  for (const json& one : document.at("packages")) {
    Package package = {.id = one.at("id")};
    for (const json& node : one.at("numa_nodes")) {
      package.numa_nodes.push_back(NumaNodeFrom(node));
    }
    topology.packages.push_back(std::move(package));
  }
  const auto set = [](const json& cpus) {
    return CpuSet(cpus.get<std::vector<int>>());
  };
  topology.allowed_cpus = set(document.at("allowed_cpus"));
  const json& memory = document.at("allowed_memory");
  if (!memory.is_null()) topology.allowed_memory = set(memory);
  const json& quota = document.at("quota_cpus");
  if (!quota.is_null()) topology.quota_cpus = quota.get<double>();
  for (const json& gpu : document.at("gpus")) {
    topology.gpus.push_back(
        {gpu.at("index"), gpu.at("pci"), gpu.at("numa_node")});
  }
  return topology;
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
      {"allowed_memory", topology.allowed_memory
                             ? ordered_json(topology.allowed_memory->ToVector())
                             : ordered_json()},
      {"quota_cpus", topology.quota_cpus ? ordered_json(*topology.quota_cpus)
                                         : ordered_json()},
      {"gpus", std::move(gpus)}};
}

absl::StatusOr<Topology> TopologyFromJson(const json& document) {
  try {
    return FromJson(document);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("no topology: ", error.what()));
  }
}

}  // namespace slipway::launcher
