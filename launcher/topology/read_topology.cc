// hwloc's view of a machine, as a Topology.
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "launcher/topology/cgroup.h"
#include "launcher/topology/topology.h"

namespace slipway::launcher {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const {
    hwloc_topology_destroy(topology);
  }
};
using HwlocTopology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

CpuSet ToCpuSet(hwloc_const_bitmap_t bitmap) {
  CpuSet set;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    set.insert(cpu);
    if (cpu >= CpuSet::kMaxCpus) break;  // an infinite bitmap
  }
  return set;
}

std::vector<hwloc_obj_t> Objects(hwloc_topology_t topology,
                                 hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object));) {
    objects.push_back(object);
  }
  return objects;
}

// Collects the cores of one package and node, by last-level cache.
std::vector<CacheGroup> CacheGroups(hwloc_topology_t topology,
                                    hwloc_obj_t package, hwloc_obj_t node) {
  std::vector<CacheGroup> groups;
  std::map<hwloc_obj_t, size_t> position;
  for (hwloc_obj_t core : Objects(topology, HWLOC_OBJ_CORE)) {
    if (!hwloc_bitmap_isincluded(core->cpuset, package->cpuset) ||
        !hwloc_bitmap_isincluded(core->cpuset, node->cpuset)) {
      continue;
    }
    hwloc_obj_t cache =
        hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, core);
    const auto [it, is_new] = position.try_emplace(cache, groups.size());
    if (is_new) {
      // Without a shared cache the node's cores are one group.
      const int id =
          static_cast<int>(cache ? cache->logical_index : node->logical_index);
      groups.push_back({.id = id});
    }
    groups[it->second].cores.push_back(
        {.id = static_cast<int>(core->logical_index),
         .cpus = ToCpuSet(core->cpuset).ToVector()});
  }
  return groups;
}

Package ReadPackage(hwloc_topology_t topology, hwloc_obj_t package,
                    bool is_first) {
  Package result = {.id = static_cast<int>(package->os_index)};
  for (hwloc_obj_t node : Objects(topology, HWLOC_OBJ_NUMANODE)) {
    // A node without CPUs belongs to no package; it is shown in the first.
    const bool memory_only = hwloc_bitmap_iszero(node->cpuset);
    if (memory_only ? !is_first
                    : !hwloc_bitmap_intersects(node->cpuset, package->cpuset)) {
      continue;
    }
    result.numa_nodes.push_back(
        {.id = static_cast<int>(node->os_index),
         .memory_bytes = node->attr->numanode.local_memory,
         .l3 = CacheGroups(topology, package, node)});
  }
  return result;
}

std::vector<Package> ReadPackages(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> objects = Objects(topology, HWLOC_OBJ_PACKAGE);
  // Some virtual machines show no package.
  if (objects.empty()) objects.push_back(hwloc_get_root_obj(topology));
  std::vector<Package> packages;
  for (hwloc_obj_t object : objects) {
    packages.push_back(ReadPackage(topology, object, packages.empty()));
  }
  return packages;
}

std::vector<Gpu> ReadGpus(hwloc_topology_t topology) {
  constexpr int kNvidia = 0x10de;
  constexpr int kDisplayClass = 0x03;
  std::vector<Gpu> gpus;
  for (hwloc_obj_t device : Objects(topology, HWLOC_OBJ_PCI_DEVICE)) {
    const auto& pci = device->attr->pcidev;
    if (pci.vendor_id != kNvidia || pci.class_id >> 8 != kDisplayClass) {
      continue;
    }
    hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(topology, device);
    const int node =
        parent && parent->nodeset ? hwloc_bitmap_first(parent->nodeset) : -1;
    gpus.push_back({.index = static_cast<int>(gpus.size()),
                    .pci = absl::StrFormat("%04x:%02x:%02x.%01x", pci.domain,
                                           pci.bus, pci.dev, pci.func),
                    .numa_node = node});
  }
  return gpus;
}

CpuSet AffinityMask() {
  // Large enough for any kernel's mask.
  cpu_set_t* mask = CPU_ALLOC(CpuSet::kMaxCpus);
  const size_t size = CPU_ALLOC_SIZE(CpuSet::kMaxCpus);
  CpuSet result;
  if (sched_getaffinity(0, size, mask) == 0) {
    for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size, mask)) result.insert(cpu);
    }
  }
  CPU_FREE(mask);
  return result;
}

absl::Status SelectSource(hwloc_topology_t topology,
                          const TopologyRequest& request,
                          Topology::Source& source) {
  if (request.topology.empty()) return absl::OkStatus();
  const bool xml = absl::EndsWith(request.topology, ".xml");
  source = xml ? Topology::Source::kXml : Topology::Source::kSynthetic;
  const int failed =
      xml ? hwloc_topology_set_xml(topology, request.topology.c_str())
          : hwloc_topology_set_synthetic(topology, request.topology.c_str());
  if (failed == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", request.topology, "\" is neither a synthetic topology such as ",
      "\"pack:2 [numa] core:8 pu:2\" nor an XML file of lstopo: ",
      std::strerror(errno)));
}

// Some of hwloc's settings are environment variables and nothing else. Sets one
// while it is in scope, unless the user has.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value)
      : name_(name), set_(std::getenv(name) == nullptr) {
    if (set_) setenv(name_, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (set_) unsetenv(name_);
  }

 private:
  const char* name_;
  bool set_;
};

// Without it no GPU can be used, wherever it is.
bool HasGpuDriver(const std::string& root) {
  std::error_code error;
  return std::filesystem::exists(root + "/proc/driver/nvidia", error);
}

absl::StatusOr<HwlocTopology> Load(const TopologyRequest& request,
                                   Topology::Source& source) {
  // Plugins would start the drivers of devices (OpenCL and others) that no
  // placement needs.
  const ScopedVariable no_plugins("HWLOC_PLUGINS_PATH", "/nonexistent");
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return absl::InternalError("hwloc cannot be initialised");
  }
  HwlocTopology topology(raw);
  // It would bind itself to each CPU in turn, and wait there for whoever is
  // running, to ask for what the kernel's files tell as well.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                "x86");
  // Everything is shown; what is not allowed is told apart.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // Disks and networks take longer to look at than all else together.
  if (HasGpuDriver(request.root)) {
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PCI_DEVICE,
                                   HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  }
  absl::Status status = SelectSource(raw, request, source);
  if (!status.ok()) return status;
  // "/" is hwloc's default, too.
  const ScopedVariable root("HWLOC_FSROOT", request.root);
  if (hwloc_topology_load(raw) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the topology cannot be read: ", std::strerror(errno)));
  }
  return topology;
}

}  // namespace

CpuSet Topology::AllCpus() const {
  CpuSet all;
  for (const Package& package : packages) {
    for (const NumaNode& node : package.numa_nodes) {
      for (const CacheGroup& group : node.l3) {
        for (const Core& core : group.cores) {
          all = all.Union(CpuSet(core.cpus));
        }
      }
    }
  }
  return all;
}

absl::StatusOr<Topology> ReadTopology(const TopologyRequest& request) {
  Topology result;
  absl::StatusOr<HwlocTopology> loaded = Load(request, result.source);
  if (!loaded.ok()) return loaded.status();
  hwloc_topology_t topology = loaded->get();
  result.packages = ReadPackages(topology);
  result.gpus = ReadGpus(topology);
  result.allowed_cpus = ToCpuSet(hwloc_topology_get_allowed_cpuset(topology));
  if (result.source == Topology::Source::kNative) {
    const CgroupLimits limits = ReadCgroupLimits(request.root);
    if (limits.cpus) {
      result.allowed_cpus = result.allowed_cpus.Intersection(*limits.cpus);
    }
    result.allowed_memory = limits.nodes;
    result.quota_cpus = limits.quota_cpus;
    // The mask is this machine's, not that of another root.
    if (request.root == "/") {
      result.allowed_cpus = result.allowed_cpus.Intersection(AffinityMask());
    }
  }
  if (result.AllCpus().empty()) {
    return absl::FailedPreconditionError(
        "this machine's cores cannot be seen: they are read from "
        "/sys/devices/system/cpu, so that /sys has to be mounted; or describe "
        "the machine by --topology");
  }
  result.allowed_cpus = result.allowed_cpus.Intersection(result.AllCpus());
  if (result.allowed_cpus.empty()) {
    return absl::FailedPreconditionError(
        "no CPU is allowed: affinity mask and cgroup have none in common");
  }
  return result;
}

}  // namespace slipway::launcher
