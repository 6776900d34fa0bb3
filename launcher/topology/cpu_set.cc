#include "launcher/topology/cpu_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::launcher {
namespace {

absl::Status NoCpus(absl::string_view item) {
  return absl::InvalidArgumentError(absl::StrCat(
      "expected CPU numbers such as \"0-3,8\", found \"", item, "\""));
}

bool ParseCpu(absl::string_view text, int& cpu) {
  return absl::SimpleAtoi(text, &cpu) && cpu >= 0 && cpu < CpuSet::kMaxCpus;
}

}  // namespace

absl::StatusOr<CpuSet> CpuSet::Parse(std::string_view text) {
  CpuSet result;
  const absl::string_view all(text.data(), text.size());
  if (absl::StripAsciiWhitespace(all).empty()) return result;
  for (absl::string_view item : absl::StrSplit(all, ',')) {
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(item, absl::MaxSplits('-', 1));
    const bool single = !absl::StrContains(item, "-");
    int first = 0;
    int last = 0;
    if (!ParseCpu(range.first, first) ||
        !ParseCpu(single ? range.first : range.second, last) || last < first) {
      return NoCpus(item);
    }
    for (int cpu = first; cpu <= last; ++cpu) result.insert(cpu);
  }
  return result;
}

CpuSet CpuSet::Intersection(const CpuSet& other) const {
  CpuSet result;
  std::set_intersection(begin(), end(), other.begin(), other.end(),
                        std::inserter(result.cpus_, result.cpus_.end()));
  return result;
}

CpuSet CpuSet::Union(const CpuSet& other) const {
  CpuSet result = *this;
  result.cpus_.insert(other.begin(), other.end());
  return result;
}

CpuSet CpuSet::Difference(const CpuSet& other) const {
  CpuSet result;
  std::set_difference(begin(), end(), other.begin(), other.end(),
                      std::inserter(result.cpus_, result.cpus_.end()));
  return result;
}

std::string CpuSet::ToString() const {
  std::string text;
  for (auto it = begin(); it != end();) {
    const int first = *it;
    int last = first;
    while (++it != end() && *it == last + 1) last = *it;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&text, "-", last);
  }
  return text;
}

}  // namespace slipway::launcher
