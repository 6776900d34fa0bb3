// A placement as a table.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "launcher/placement/placement.h"

namespace slipway::launcher {

std::string FormatPlacement(const Placement& placement) {
  std::string text =
      absl::StrFormat("%-5s %-20s %-8s %-8s %-8s %s\n", "rank", "CPUs",
                      "package", "node", "memory", "threads");
  for (const RankPlacement& rank : placement.ranks) {
    absl::StrAppendFormat(&text, "%-5d %-20s %-8s %-8s %-8s %d%s%s\n",
                          rank.rank, rank.cpus.ToString(),
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
    absl::StrAppend(&text, "unused: ", cpus.ToString(), " (", reason, ")\n");
  }
  return text;
}

}  // namespace slipway::launcher
