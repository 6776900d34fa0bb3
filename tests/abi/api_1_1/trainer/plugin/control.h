// What a hook may ask of the loop.
#ifndef SLIPWAY_TRAINER_PLUGIN_CONTROL_H_
#define SLIPWAY_TRAINER_PLUGIN_CONTROL_H_

#include <string>
#include <string_view>

namespace slipway {

// Requests take effect at the next step boundary, on all ranks at once, even if
// a single one asks. With several ranks, what is asked for from AfterBackward
// on is heard a step later (EpochEnd: at once), and a step that is skipped from
// then on has to be skipped by all of them: gradients are equal everywhere. The
// training thread's own; signal handlers use Trainer::stop_signal.
class Control {
 public:
  // Ends the training after this step. The first reason is kept.
  void RequestStop(std::string_view reason);
  // Writes the latest checkpoint after this step.
  void RequestSave() { save_ = true; }
  // Evaluates after this step, then goes on.
  void RequestEvaluate() { evaluate_ = true; }
  // Leaves this window's optimizer step out: gradients are dropped, and
  // AfterOptimizer is told that no step was taken.
  void SkipStep(std::string_view reason);

  bool stop() const { return stop_; }
  bool save() const { return save_; }
  bool evaluate() const { return evaluate_; }
  bool skip() const { return skip_; }
  const std::string& stop_reason() const { return stop_reason_; }
  const std::string& skip_reason() const { return skip_reason_; }

  // For the loop: forgets what has been done. Between the micro-batches of a
  // window ClearRequests leaves alone what was said about its step.
  void ClearStepRequests();
  void ClearRequests();

 private:
  bool stop_ = false;
  bool save_ = false;
  bool evaluate_ = false;
  bool skip_ = false;
  std::string stop_reason_;
  std::string skip_reason_;
};

// Something to be undone: its destructor undoes it. The loop destroys scopes
// last-in-first-out when the phase they were entered in ends, on errors too.
class Scope {
 public:
  virtual ~Scope();
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_CONTROL_H_
