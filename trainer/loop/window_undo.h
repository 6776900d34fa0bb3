// Takes back what the batches of one window have left behind, so that a bad
// step is as if its batches had never been.
//
//   WindowUndo undo(state, loss, metrics, meter);
//   undo.Mark();                        // before the window's first batch
//   ...                                 // forward and backward passes
//   if (bad) undo.Undo();               // before hooks hear of the step's end
//
// A window changes less than a step: parameters, optimizer, loss scale and
// averages move only when the step is taken. What forward passes write is
// copied: buffers (BatchNorm's running statistics, which one nan spoils for
// good), the tensors of the loss, the generators' states, the training metrics'
// meters and the mean loss. That costs as much memory as the buffers take, and
// a copy of them per window. State that a plugin changes in a window is the
// plugin's to undo, when AfterOptimizer says that no step was taken.
//
// Borrows what it is given; the training thread's. May throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_WINDOW_UNDO_H_
#define SLIPWAY_TRAINER_LOOP_WINDOW_UNDO_H_

#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/loop/loss_meter.h"
#include "trainer/loop/reduce.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {

class WindowUndo {
 public:
  // `loss` may be null.
  WindowUndo(const TrainingState& state, const Loss* loss,
             const MetricList& metrics, LossMeter& meter);

  // Undo() returns to here. The memory of the last mark is used again.
  void Mark();
  // Metrics and mean loss were reset in the middle of a window, which an epoch
  // carries over into the next: Undo() leaves them as they are now.
  void MarkMeters();
  // Drops the gradients, too. Once per mark.
  void Undo();

 private:
  // A tensor of the training, and what it was.
  struct Copy {
    at::Tensor live;
    at::Tensor was;
  };
  std::vector<at::Tensor> Written() const;

  const TrainingState& state_;
  const Loss* loss_;
  const MetricList& metrics_;
  LossMeter& meter_;

  std::vector<Copy> copies_;
  std::vector<at::Tensor> generators_;
  std::vector<std::vector<at::Tensor>> meters_;  // by metric
  LossMeter mean_loss_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_WINDOW_UNDO_H_
