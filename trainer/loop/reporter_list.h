// Tells many reporters as one.
//
//   ReporterList reporters;
//   reporters.Add(std::make_unique<JsonLinesReporter>(...));
//   reporters.OnStep(step);
//
// A reporter that returns an error or throws is left out from then on, and the
// others hear of it as a warning, once. Not thread-safe.
#ifndef SLIPWAY_TRAINER_LOOP_REPORTER_LIST_H_
#define SLIPWAY_TRAINER_LOOP_REPORTER_LIST_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainer/recipe/problem.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

class ReporterList {
 public:
  void Add(std::unique_ptr<Reporter> reporter) {
    reporters_.push_back(std::move(reporter));
  }
  bool empty() const { return reporters_.empty(); }

  void OnBegin(const BeginReport& begin);
  void OnStep(const StepReport& step);
  void OnEvaluationProgress(const EvaluationProgress& progress);
  void OnEpoch(const EpochReport& epoch);
  void OnEvent(const EventReport& event);
  void OnProblem(const Problem& problem);
  void OnEnd(const EndReport& end);

 private:
  using Call = std::function<absl::Status(Reporter&)>;
  void Tell(const Call& call);

  std::vector<std::unique_ptr<Reporter>> reporters_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_REPORTER_LIST_H_
