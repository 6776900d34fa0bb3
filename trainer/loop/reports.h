// What a run tells its reporters, and when each number costs something.
#ifndef SLIPWAY_TRAINER_LOOP_REPORTS_H_
#define SLIPWAY_TRAINER_LOOP_REPORTS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "trainer/data/loader.h"
#include "trainer/loop/advice.h"
#include "trainer/loop/run.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

// One rate per parameter group, by name. Groups that differ in weight decay
// alone share name and rate, and are told once.
NamedValues NamedRates(const Run& run, const std::vector<double>& rates);

// The header of every report.
BeginReport DescribeRun(const Run& run);

// Ends a pass: puts its values where hooks find them, and tells the reporters.
void ReportEpoch(Run& run, std::string split, const NamedValues& metrics,
                 double seconds, bool is_best);

// Something happened here and now.
void TellEvent(Run& run, std::string_view name, nlohmann::ordered_json detail);
void TellSkippedSamples(Run& run, const std::vector<std::string>& messages);

// That a trace was written, and what to open it with.
Problem TraceNote(const std::string& path);

// "cpu", "cuda:0".
std::string DeviceName(at::Device device);

// Reports the steps of one epoch. Rates are of the time since the last report
// that was logged.
class StepReporter {
 public:
  // `batches` is the epoch's pass; both are borrowed.
  StepReporter(Run& run, data::Epoch& batches);

  // Where the time since this object was made has gone.
  TimeReport Time();

  // After a step that was taken. `loss` is called in logged reports only, for
  // it waits for the device.
  void Report(const std::function<double()>& loss);

 private:
  void FillLogged(StepReport& report);
  void FindCostliestHook(AdviceFacts& facts) const;
  NamedValues LearningRates() const;

  Run& run_;
  data::Epoch& batches_;
  std::chrono::steady_clock::time_point logged_at_;
  int64_t logged_samples_;
  double logged_wait_ = 0;
  bool first_ = true;
  std::vector<HookRunner::Time> hooks_before_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_REPORTS_H_
