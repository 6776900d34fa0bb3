#include "trainer/loop/reporter_list.h"

#include <algorithm>
#include <string>

#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

Problem CannotReport(const absl::Status& status) {
  Problem problem;
  problem.kind = "value";
  problem.severity = Severity::kWarning;
  problem.message = std::string(status.message());
  problem.detail =
      "this reporter is left out from now on; the training goes on";
  return problem;
}

}  // namespace

void ReporterList::OnBegin(const BeginReport& begin) {
  Tell([&](Reporter& reporter) { return reporter.OnBegin(begin); });
}

void ReporterList::OnStep(const StepReport& step) {
  Tell([&](Reporter& reporter) { return reporter.OnStep(step); });
}

void ReporterList::OnEvaluationProgress(const EvaluationProgress& progress) {
  Tell([&](Reporter& reporter) {
    return reporter.OnEvaluationProgress(progress);
  });
}

void ReporterList::OnEpoch(const EpochReport& epoch) {
  Tell([&](Reporter& reporter) { return reporter.OnEpoch(epoch); });
}

void ReporterList::OnEvent(const EventReport& event) {
  Tell([&](Reporter& reporter) { return reporter.OnEvent(event); });
}

void ReporterList::OnProblem(const Problem& problem) {
  Tell([&](Reporter& reporter) { return reporter.OnProblem(problem); });
}

void ReporterList::OnEnd(const EndReport& end) {
  Tell([&](Reporter& reporter) { return reporter.OnEnd(end); });
}

// Each failure makes the list shorter, so that the recursion ends.
void ReporterList::Tell(const Call& call) {
  Problems failures;
  const auto fails = [&](const std::unique_ptr<Reporter>& reporter) {
    const absl::Status status = Guarded([&] { return call(*reporter); });
    if (!status.ok()) failures.push_back(CannotReport(status));
    return !status.ok();
  };
  reporters_.erase(std::remove_if(reporters_.begin(), reporters_.end(), fails),
                   reporters_.end());
  for (const Problem& failure : failures) OnProblem(failure);
}

}  // namespace slipway::loop
