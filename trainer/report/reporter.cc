#include "trainer/report/reporter.h"

namespace slipway {

Reporter::~Reporter() = default;

absl::Status Reporter::OnBegin(const BeginReport& begin) {
  return absl::OkStatus();
}
absl::Status Reporter::OnStep(const StepReport& step) {
  return absl::OkStatus();
}
absl::Status Reporter::OnEvaluationProgress(
    const EvaluationProgress& progress) {
  return absl::OkStatus();
}
absl::Status Reporter::OnEpoch(const EpochReport& epoch) {
  return absl::OkStatus();
}
absl::Status Reporter::OnEvent(const EventReport& event) {
  return absl::OkStatus();
}
absl::Status Reporter::OnProblem(const Problem& problem) {
  return absl::OkStatus();
}
absl::Status Reporter::OnEnd(const EndReport& end) { return absl::OkStatus(); }

}  // namespace slipway
