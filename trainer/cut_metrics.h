// Cuts metrics.jsonl back to the checkpoint from which a run goes on, so that
// no step is told twice.
//
//   absl::Status status = CutMetrics(run_dir + "/metrics.jsonl",
//                                    {.epoch = 3, .step = 1200});
#ifndef SLIPWAY_TRAINER_CUT_METRICS_H_
#define SLIPWAY_TRAINER_CUT_METRICS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace slipway {

// Where a checkpoint stands.
struct MetricsPlace {
  int64_t epoch = 0;  // finished epochs
  int64_t step = 0;   // optimizer steps taken
};

// Keeps the lines of what was before that place: steps below `step`, results of
// epochs below `epoch`, evaluations in the middle of the next one, and events
// up to it. (Lines are not in its order: a checkpoint that is written beside
// the training is told some steps later.) A line that does not parse ends the
// file. Does nothing if there is no such file. The file is replaced as a whole;
// errors name the path and the reason.
absl::Status CutMetrics(const std::string& path, const MetricsPlace& place);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CUT_METRICS_H_
