// What comes after a step: another one, a save, an evaluation or the end, as
// hooks and signals ask for it.
//
//   Decisions decisions(group, state.control, stop_signal);
//   while (!decisions.stops()) {
//     ...                                          // a step
//     if (decisions.saves()) Save();
//     decisions.Done(/*window_open=*/false);
//   }
//
// A process that is alone does what it is asked for. Several ranks do what any
// of them is asked for, all at the same place:
//
// - In a step: what there is by the time of the backward pass travels with its
//   gradients (Speak, Hear) and holds from its end on. What hooks ask for later
//   in a step, from AfterBackward on, travels with the next one.
// - At the end of an epoch (MeetAtEpochEnd): all that is left.
// - Before a batch that not all ranks have yet (MeetBeforeBatch): signals. A
//   rank that waits for data may get one and will not come to its next step, so
//   that the others do not begin theirs before they know. In an evaluation,
//   whose batches share nothing else, they meet before each.
//
// A rank that no signal reaches, and whose data never come, keeps the others
// waiting until the peer timeout.
//
// The training thread's, but Speak: see StepSync. Nothing throws.
#ifndef SLIPWAY_TRAINER_LOOP_DECISIONS_H_
#define SLIPWAY_TRAINER_LOOP_DECISIONS_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/agreement.h"
#include "trainer/plugin/control.h"

namespace slipway::loop {

class Decisions {
 public:
  // All is borrowed. `signal` is zero or the number of the one that came; with
  // several ranks it is set to the one that they have agreed on.
  Decisions(dist::ProcessGroup& group, Control& control,
            std::atomic<int>& signal)
      : group_(group), control_(control), signal_(signal) {}

  // Zero, or the signal that ends the training.
  int signal() const;
  // Whether the training ends here, by a signal or a hook's request.
  bool stops() const;
  bool saves() const;
  bool evaluates() const;

  // The saves and evaluations of this step are done. What was said about the
  // fate of a window is kept while that is open.
  void Done(bool window_open);

  // With several ranks, in each step.
  void Speak(Word& word);
  void Hear(const Agreement& all);

  // Before each micro-batch of a training; `stalled`: a signal came before this
  // rank's batch did. False: the epoch is left here, by all ranks. Nothing is
  // sent if they have told in the step before that they have this batch.
  absl::StatusOr<bool> MeetBeforeBatch(bool stalled, bool window_open);
  // The same in an evaluation. False: it is broken off here.
  absl::StatusOr<bool> MeetInEvaluation(bool stalled);
  // After EpochEnd, before the epoch is saved.
  absl::Status MeetAtEpochEnd();
  // At the beginning of an epoch nobody has told of its batches.
  void EpochBegins() { all_have_batches_ = false; }

 private:
  bool several() const { return group_.distributed(); }
  absl::StatusOr<Agreement> Meet(const Word& word);
  void Take(const Agreement& all);

  // What hooks ask for, or have.
  struct Requests {
    bool stop = false;
    bool save = false;
    bool evaluate = false;
  };

  dist::ProcessGroup& group_;
  Control& control_;
  std::atomic<int>& signal_;
  Requests own_;     // not told yet
  Requests agreed_;  // and not done yet
  int agreed_signal_ = 0;
  bool all_have_batches_ = false;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_DECISIONS_H_
