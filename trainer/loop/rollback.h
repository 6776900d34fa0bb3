// Takes bad steps back: `non_finite: rollback` and `loss_spike`.
//
//   Rollback rollback(run);
//   while (...) {
//     RETURN_IF_ERROR(rollback.BeforeBatch());
//     ...                                         // the batch, and its step
//     if (run.stepper->bad_step()) {
//       RETURN_IF_ERROR(rollback.TakeBack(*run.stepper->bad_step()));
//     }
//   }
//
// A step is bad if its loss or gradients are not finite, or its loss is a spike
// (loss_spike.h). It is found before the optimizer moves, and returns to the
// last good state:
//
// - To that before the step, as if its batches had never been: window_undo.h.
//   With one bad batch, the rest of the training equals one without it.
// - If that state is bad itself - a parameter or buffer is not finite, or the
//   next steps are bad again - to one that is kept in memory: parameters,
//   buffers, optimizer, loss scale, tensors of the loss, state of the plugins
//   (averages) and the count of steps, which is the place in the schedules. It
//   is copied as training starts and after every kKeepEvery steps that were
//   taken, if all parameters and buffers are finite then. It costs as much
//   memory as a checkpoint, on the training's device.
//
// The data moves on in both cases. Training again on the same data from an
// earlier state, as after a crash, would bring the same step; that leaving out
// some batches helps, although there is nothing wrong with them by themselves,
// is the experience of PaLM's authors (Chowdhery et al., "PaLM: scaling
// language modeling with pathways", 2022, section 5.1).
//
// After kMaxTries rollbacks without getting past the step that was bad first,
// the training ends. Each rollback is told as the event `rollback`.
//
// Hooks see a step that is not taken; where the kept state returns, BeforeLoad,
// LoadState and AfterLoad follow. Keeping calls BeforeSave, SaveState and
// AfterSave with an empty path. The training thread's; may throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_ROLLBACK_H_
#define SLIPWAY_TRAINER_LOOP_ROLLBACK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/run.h"
#include "trainer/loop/step.h"
#include "trainer/loop/window_undo.h"

namespace slipway::loop {

class Rollback {
 public:
  static constexpr int64_t kKeepEvery = 100;  // steps
  static constexpr int kMaxTries = 10;

  // Whether a recipe asks for any of this.
  static bool IsWanted(const Hyperparams& hyperparams);

  // Guards the steps of `run`, which is borrowed.
  explicit Rollback(Run& run);
  ~Rollback();
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  // After an epoch's meters were reset.
  void EpochBegan() { undo_.MarkMeters(); }
  // Before each batch is fetched. Errors are of hooks.
  absl::Status BeforeBatch();
  // After a bad step has ended; `what` is bad about it. FAILED_PRECONDITION
  // when it gives up; other errors are of hooks.
  absl::Status TakeBack(const std::string& what);
  // Whether the last error was giving up.
  bool gave_up() const { return gave_up_; }

 private:
  absl::Status Keep();
  absl::Status ReturnToKept();
  absl::Status GiveUp(const std::string& what);
  void Tell(const std::string& what, int64_t to_step);
  bool KeepsNow() const;

  Run& run_;
  WindowUndo undo_;
  std::optional<Checkpoint> kept_;
  bool marked_ = false;
  int64_t first_batch_ = 0;  // of the window
  int64_t bad_step_ = -1;    // the furthest that was bad
  int tries_ = 0;            // since then
  int64_t rollbacks_ = 0;    // of this process
  bool gave_up_ = false;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_ROLLBACK_H_
