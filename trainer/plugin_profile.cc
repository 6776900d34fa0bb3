#include "trainer/plugin_profile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway {
namespace {

constexpr char kLine[] = "%-20s  %-16s  %9d  %9.4f  %9.1f us\n";

}  // namespace

std::string FormatPluginProfile(std::vector<HookRunner::Time> times) {
  std::stable_sort(
      times.begin(), times.end(),
      [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string table = absl::StrFormat("%-20s  %-16s  %9s  %9s  %s\n", "plugin",
                                      "hook", "calls", "seconds", "per call");
  for (const HookRunner::Time& time : times) {
    const double each = time.seconds / static_cast<double>(time.calls) * 1e6;
    absl::StrAppend(&table, absl::StrFormat(kLine, time.plugin,
                                            std::string(ToString(time.hook)),
                                            time.calls, time.seconds, each));
  }
  return table;
}

}  // namespace slipway
