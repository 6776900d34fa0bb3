// A set of logical CPUs, by the operating system's numbers.
//
//   absl::StatusOr<CpuSet> set = CpuSet::Parse("0-3,8");
//   set->size();        // 5
//   set->ToString();    // "0-3,8"
//
// A value type; the text form is the kernel's list format.
#ifndef SLIPWAY_LAUNCHER_TOPOLOGY_CPU_SET_H_
#define SLIPWAY_LAUNCHER_TOPOLOGY_CPU_SET_H_

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::launcher {

class CpuSet {
 public:
  // No machine has more; larger numbers are a mistake in a list.
  static constexpr int kMaxCpus = 1 << 16;

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus) : cpus_(cpus) {}
  explicit CpuSet(const std::vector<int>& cpus)
      : cpus_(cpus.begin(), cpus.end()) {}

  // "0-3,8", "" (empty), spaces around items allowed. INVALID_ARGUMENT quotes
  // the item that is none.
  static absl::StatusOr<CpuSet> Parse(std::string_view text);

  bool empty() const { return cpus_.empty(); }
  int size() const { return static_cast<int>(cpus_.size()); }
  bool contains(int cpu) const { return cpus_.count(cpu) > 0; }
  void insert(int cpu) { cpus_.insert(cpu); }
  // Ascending.
  auto begin() const { return cpus_.begin(); }
  auto end() const { return cpus_.end(); }
  std::vector<int> ToVector() const { return {cpus_.begin(), cpus_.end()}; }

  CpuSet Intersection(const CpuSet& other) const;
  CpuSet Union(const CpuSet& other) const;
  CpuSet Difference(const CpuSet& other) const;

  std::string ToString() const;
  bool operator==(const CpuSet&) const = default;

 private:
  std::set<int> cpus_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_TOPOLOGY_CPU_SET_H_
