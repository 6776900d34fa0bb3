#include "trainer/loop/advice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace slipway::loop {
namespace {

double Total(const NamedValues& seconds) {
  return std::accumulate(
      seconds.begin(), seconds.end(), 0.0,
      [](double sum, const auto& entry) { return sum + entry.second; });
}

double Of(const NamedValues& seconds, std::string_view name) {
  for (const auto& [phase, value] : seconds) {
    if (phase == name) return value;
  }
  return 0;
}

double Compute(const NamedValues& seconds) {
  double sum = 0;
  for (const char* phase :
       {"forward", "loss", "backward", "optimizer", "metrics"}) {
    sum += Of(seconds, phase);
  }
  return sum;
}

// `workers` threads fill (1 - wait) of the time's need, so that the whole of it
// needs workers / (1 - wait) of them.
std::string MoreWorkers(double wait, const AdviceFacts& facts) {
  const int have = std::max(facts.num_workers, 1);
  const int want = static_cast<int>(std::ceil(have / std::max(1 - wait, 0.05)));
  const int useful = std::min(std::max(want, have + 1), facts.cores);
  if (facts.num_workers == 0) {
    return absl::StrCat(
        "batches are prepared between the steps; set num_workers to ",
        std::max(1, std::min(useful, facts.cores)));
  }
  if (useful > have) {
    return absl::StrCat(
        "the data pipeline is too slow; raise num_workers from ", have, " to ",
        useful);
  }
  return absl::StrCat("the data pipeline is too slow, with ", have,
                      " workers on ", facts.cores,
                      facts.cores == 1 ? " core" : " cores",
                      "; use smaller images or cheaper transforms");
}

std::string LargerBatches(std::string_view why, const AdviceFacts& facts) {
  return absl::StrCat(std::string(why), "; raise batch_size from ",
                      facts.batch_size, " or batch_accumulate from ",
                      facts.batch_accumulate);
}

}  // namespace

std::string TimeShares(const NamedValues& seconds) {
  const double total = Total(seconds);
  if (total <= 0) return "";
  std::vector<std::string> parts;
  for (const auto& [name, spent] : std::vector<std::pair<const char*, double>>{
           {"data", Of(seconds, "data")},
           {"compute", Compute(seconds)},
           {"synchronisation", Of(seconds, "synchronisation")},
           {"hooks", Of(seconds, "hooks")},
           {"other", Of(seconds, "other")}}) {
    const double percent = 100 * spent / total;
    if (percent < 0.5) continue;
    parts.push_back(absl::StrFormat("%s %.0f %%", name, percent));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Advice(const NamedValues& seconds, const AdviceFacts& facts) {
  const double total = Total(seconds);
  if (total <= 0) return "";
  const double data = Of(seconds, "data") / total;
  if (data >= 0.1) return MoreWorkers(data, facts);
  if (Of(seconds, "synchronisation") / total >= 0.2) {
    return LargerBatches("ranks wait for each other", facts);
  }
  const double hook = facts.hook_seconds / total;
  if (hook >= 0.1) {
    return absl::StrFormat(
        "plugin %s takes %.0f %% in %s; --plugin_profile shows its hooks",
        facts.plugin, 100 * hook, facts.hook);
  }
  if (Of(seconds, "optimizer") / total >= 0.3) {
    return LargerBatches("the optimizer takes as long as the model", facts);
  }
  if (Of(seconds, "other") / total >= 0.3) {
    return LargerBatches("the steps are too short for what surrounds them",
                         facts);
  }
  return "";
}

}  // namespace slipway::loop
