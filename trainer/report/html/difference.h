// What differs between runs: recipes key by key, and plans plugin by plugin.
//
//   for (const Difference& row : RecipeDifferences(runs)) {
//     // row.key: "training_hyperparams.initial_lr"
//     // row.values: {"0.1", "0.05"}, one for each run
//   }
//
// Pure functions.
#ifndef SLIPWAY_TRAINER_REPORT_HTML_DIFFERENCE_H_
#define SLIPWAY_TRAINER_REPORT_HTML_DIFFERENCE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/report/html/run_data.h"

namespace slipway::html {

struct Difference {
  std::string key;
  // One for each run; nullopt where a run has no such key.
  std::vector<std::optional<std::string>> values;
};

// Sorted by key. Empty for a single run.
std::vector<Difference> RecipeDifferences(const std::vector<RunData>& runs);

// Of "ema" (its version), "ema.decay" (its configuration), "order.<Hook>" and
// "claims.<slot>".
std::vector<Difference> PlanDifferences(const std::vector<RunData>& runs);

}  // namespace slipway::html

#endif  // SLIPWAY_TRAINER_REPORT_HTML_DIFFERENCE_H_
