// What was measured: of this rank's samples, or of all ranks'.
//
//   absl::StatusOr<NamedValues> loss = ComputeOverRanks(meter, group);
//   absl::StatusOr<NamedValues> values = ComputeOverRanks(metrics, group);
//
// Meters and sums stay this rank's own. What is over ranks is called by all of
// them at the same place, with the same metrics; in a world of one nothing is
// sent. Errors are ProcessGroup's. Waits for the device; may throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_REDUCE_H_
#define SLIPWAY_TRAINER_LOOP_REDUCE_H_

#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/loss_meter.h"
#include "trainer/plugin/metric.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

using MetricList = std::vector<std::unique_ptr<Metric>>;

// The values of each metric, in order, of this rank's samples.
NamedValues ComputeMetrics(const MetricList& metrics);

// Of all samples: the mean loss with its parts, and the values of each metric.
absl::StatusOr<NamedValues> ComputeOverRanks(const LossMeter& meter,
                                             dist::ProcessGroup& group);
absl::StatusOr<NamedValues> ComputeOverRanks(const MetricList& metrics,
                                             dist::ProcessGroup& group);

// The sums themselves, for checkpoints; copies.
absl::StatusOr<LossMeter::State> SumOverRanks(LossMeter::State own,
                                              dist::ProcessGroup& group);
absl::StatusOr<std::vector<at::Tensor>> SumOverRanks(const MetricList& metrics,
                                                     dist::ProcessGroup& group);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_REDUCE_H_
