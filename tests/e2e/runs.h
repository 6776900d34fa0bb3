// Small trainings on digits for tests that interrupt and resume them, and what
// is left of them.
#ifndef SLIPWAY_TESTS_E2E_RUNS_H_
#define SLIPWAY_TESTS_E2E_RUNS_H_

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {

using Arguments = std::vector<std::string>;

// digits_all_plugins: two epochs of six steps, on a net of a few channels, with
// a checkpoint every second step. `run_dir` is the run's folder.
Arguments SmallRun(const std::string& run_dir, const Arguments& more = {});

// The latest checkpoint in a run's folder; a failure of the test if it cannot
// be read.
Checkpoint LatestOf(const std::string& run_dir);

// Every tensor of it by its path, as bytes; the generators' states with them.
std::map<std::string, std::string> Contents(const Checkpoint& checkpoint);

// Fails for each tensor that is not the same bit for bit.
void ExpectSameRuns(const std::string& run_dir, const std::string& other);

// Lines of metrics.jsonl, and of those the ones of a kind.
std::vector<nlohmann::json> MetricLines(const std::string& run_dir);
std::vector<nlohmann::json> LinesOf(const std::string& run_dir,
                                    const std::string& kind);

// The loss of each step that was logged.
std::vector<double> LossesOf(const std::string& run_dir);

nlohmann::json ResultOf(const std::string& run_dir);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_E2E_RUNS_H_
