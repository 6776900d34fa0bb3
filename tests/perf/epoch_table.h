// Epoch times of trainings with and without compiled code, as the table that
// torch.compile's users know.
//
//   const absl::StatusOr<RunFigures> eager = ReadRun(run_dir, /*warm_up=*/1);
//   rows.push_back({"digits_resnet", /*ema=*/false, /*ranks=*/1, *eager,
//                   *compiled});
//   std::cout << ToText(rows);
//
// An epoch is everything that happens in it: training, validation, loss and
// metrics. What counts is the median over epochs, without those at the start in
// which code is compiled, and
//
//   improvement = 100 * (baseline - compiled) / baseline
//
// Among ranks, training waits for gradients that come too late to travel while
// backward runs; compiled code yields all of them at its end.
#ifndef SLIPWAY_TESTS_PERF_EPOCH_TABLE_H_
#define SLIPWAY_TESTS_PERF_EPOCH_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace slipway::perf {

// Of one training.
struct RunFigures {
  double seconds = 0;  // of an epoch: training and validation
  double train_seconds = 0;
  // Of them, waiting for other ranks and their gradients.
  double synchronisation_seconds = 0;
  double valid_seconds = 0;
  int64_t epochs = 0;  // of which these are the medians
  // What result.json says: {train: {<name>: value}, valid: {...}}.
  nlohmann::ordered_json metrics;
  int64_t peak_rss_bytes = 0;      // of rank 0
  nlohmann::ordered_json compile;  // null: eager
};

struct TableRow {
  std::string recipe;
  bool ema = false;
  int ranks = 1;
  RunFigures baseline;
  RunFigures compiled;

  double improvement() const;
};

// From a run's folder, without its first `warm_up` epochs. NOT_FOUND or
// DATA_LOSS if a file is missing or no epoch with validation is left.
absl::StatusOr<RunFigures> ReadRun(const std::string& run_dir, int warm_up);

// A line for each recipe with and without an average of the weights, a column
// for each number of ranks; then what the lines do not say of each pair of
// runs: training and validation, losses, metrics, memory, the code.
std::string ToText(const std::vector<TableRow>& rows);

// [{recipe, ema, ranks, baseline: {seconds, train_seconds,
// synchronisation_seconds, valid_seconds, epochs, metrics, peak_rss_bytes,
// compile}, compiled: likewise, improvement}].
nlohmann::ordered_json ToJson(const std::vector<TableRow>& rows);

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_EPOCH_TABLE_H_
