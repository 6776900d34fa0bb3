#include "trainer/loop/reduce.h"

#include <utility>

#include "ATen/core/grad_mode.h"
#include "absl/types/span.h"
#include "trainer/dist/collectives.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

std::vector<at::Tensor> MetersOf(const MetricList& metrics) {
  std::vector<at::Tensor> meters;
  for (const auto& metric : metrics) {
    for (const at::Tensor& meter : metric->Meters()) meters.push_back(meter);
  }
  return meters;
}

void Copy(const std::vector<at::Tensor>& from,
          const std::vector<at::Tensor>& to) {
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace

NamedValues ComputeMetrics(const MetricList& metrics) {
  NamedValues values;
  for (const auto& metric : metrics) {
    for (auto& value : metric->Compute()) values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<NamedValues> ComputeOverRanks(const LossMeter& meter,
                                             dist::ProcessGroup& group) {
  if (!group.distributed()) return meter.Compute();
  absl::StatusOr<LossMeter::State> sums =
      SumOverRanks(meter.SaveState(), group);
  if (!sums.ok()) return sums.status();
  LossMeter all = meter;
  all.LoadState(*sums);
  return all.Compute();
}

// A metric computes from its own meters: they hold the sums meanwhile.
absl::StatusOr<NamedValues> ComputeOverRanks(const MetricList& metrics,
                                             dist::ProcessGroup& group) {
  if (!group.distributed()) return ComputeMetrics(metrics);
  absl::StatusOr<std::vector<at::Tensor>> sums = SumOverRanks(metrics, group);
  if (!sums.ok()) return sums.status();
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> meters = MetersOf(metrics);
  std::vector<at::Tensor> own;
  for (const at::Tensor& meter : meters) own.push_back(meter.clone());
  Copy(*sums, meters);
  NamedValues values = ComputeMetrics(metrics);
  Copy(own, meters);
  return values;
}

absl::StatusOr<LossMeter::State> SumOverRanks(LossMeter::State own,
                                              dist::ProcessGroup& group) {
  std::vector<double> numbers = {static_cast<double>(own.samples)};
  for (const auto& [part, sum] : own.sums) numbers.push_back(sum);
  SLIPWAY_RETURN_IF_ERROR(dist::AllReduce(group, absl::MakeSpan(numbers)));
  own.samples = static_cast<int64_t>(numbers[0]);
  for (size_t i = 0; i < own.sums.size(); ++i) {
    own.sums[i].second = numbers[i + 1];
  }
  return own;
}

absl::StatusOr<std::vector<at::Tensor>> SumOverRanks(
    const MetricList& metrics, dist::ProcessGroup& group) {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> sums;
  for (const at::Tensor& meter : MetersOf(metrics)) {
    sums.push_back(meter.clone());
  }
  SLIPWAY_RETURN_IF_ERROR(dist::AllReduceTensors(group, sums));
  return sums;
}

}  // namespace slipway::loop
