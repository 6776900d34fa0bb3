// A placement as a table.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "launcher/placement/placement.h"

namespace slipway::launcher {
namespace {

const char* Explanation(const std::string& reason) {
  if (reason == "remainder") {
    return "no even share of them for every rank; see --remainder, --policy, "
           "--allow_straddle";
  }
  if (reason == "smt") {
    return "further hardware threads of cores in use; see --smt";
  }
  if (reason == "reserved") return "left to the system by --reserve_cores";
  return "outside this process's affinity mask or cgroup";
}

}  // namespace

std::string FormatPlacement(const Placement& placement, int first_rank) {
  std::string text =
      absl::StrFormat("%-5s %-20s %-8s %-8s %-8s %s\n", "rank", "CPUs",
                      "package", "node", "memory", "threads");
  for (const RankPlacement& rank : placement.ranks) {
    absl::StrAppendFormat(&text, "%-5d %-20s %-8s %-8s %-8s %d%s%s\n",
                          first_rank + rank.rank, rank.cpus.ToString(),
                          absl::StrJoin(rank.packages, ","),
                          absl::StrJoin(rank.numa_nodes, ","),
                          absl::StrJoin(rank.memory_nodes, ","), rank.threads,
                          rank.gpu ? absl::StrCat("  GPU ", *rank.gpu) : "",
                          rank.straddles ? "  spans packages" : "");
  }
  std::map<std::string, CpuSet> reasons;
  for (const UnusedCpu& unused : placement.unused) {
    reasons[unused.reason].insert(unused.cpu);
  }
  for (const auto& [reason, cpus] : reasons) {
    absl::StrAppend(&text, "unused: ", cpus.ToString(), " (", reason, ": ",
                    Explanation(reason), ")\n");
  }
  return text;
}

}  // namespace slipway::launcher
