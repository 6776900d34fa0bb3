// Records a trace of some steps, with the profiler of LibTorch (Kineto).
//
//   StepProfiler profiler;
//   profiler.Plan({.first = 5, .count = 10}, run_dir);
//   while (...) {
//     profiler.BeforeStep(step);
//     ...
//   }
//   profiler.Finish();
//
// The file, trace_steps_5-14.json in the run's folder, is one for Chrome's
// chrome://tracing and ui.perfetto.dev. It has every operator with the shapes
// of its inputs, and the core's ranges: the phases ("forward") and each
// plugin's hooks ("ema AfterOptimizer"). Steps run slower while they are
// recorded. What the data pipeline's threads do is not in it.
//
// One thread's: the one that trains. May throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_PROFILE_H_
#define SLIPWAY_TRAINER_LOOP_PROFILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trainer/loop/profiled_steps.h"

namespace slipway::loop {

class StepProfiler {
 public:
  // Records nothing.
  StepProfiler() = default;
  // Drops what is not finished.
  ~StepProfiler();
  StepProfiler(const StepProfiler&) = delete;
  StepProfiler& operator=(const StepProfiler&) = delete;

  // Plans to record `steps` into a file in `folder`; the device's work, too, if
  // it computes on its own.
  void Plan(const ProfiledSteps& steps, std::string folder, bool device);

  // Called where `step` begins: starts or ends the record where it is due.
  // The path of the file that was written, if one was.
  std::optional<std::string> BeforeStep(int64_t step) {
    if (!planned_) return std::nullopt;
    return Move(step);
  }
  // The training is over: ends a record that runs.
  std::optional<std::string> Finish();

 private:
  std::optional<std::string> Move(int64_t step);
  void Start(int64_t step);

  std::optional<ProfiledSteps> planned_;
  std::string folder_;
  bool device_ = false;
  bool running_ = false;
  int64_t started_at_ = 0;
  int64_t now_ = 0;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_PROFILE_H_
