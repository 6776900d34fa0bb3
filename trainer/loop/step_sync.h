// What a step does so that several ranks take it as one: gradients, buffers and
// what there is to agree on.
//
//   StepSync sync(group, model, dist::BufferPolicy::kBroadcast);
//   for each micro-batch:
//     ...                                     // forward and loss
//     if (last) sync.Begin(loss_is_finite, [&](Word& word) { ... });
//     loss.backward();                        // meanwhile all that travels
//   absl::StatusOr<Agreement> all = sync.Finish();
//
// Gradients become the mean of the ranks', buffers what the policy says. On the
// inner micro-batches of a window nothing is sent. After Begin every rank has
// to run the backward pass, whatever it thinks of its loss: operators in it may
// wait for the others' (synchronised batch normalisation).
//
// The training thread's; may throw c10::Error.
#ifndef SLIPWAY_TRAINER_LOOP_STEP_SYNC_H_
#define SLIPWAY_TRAINER_LOOP_STEP_SYNC_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/dist/buffer_sync.h"
#include "trainer/dist/gradient_sync.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/agreement.h"
#include "trainer/nn/module.h"

namespace slipway::loop {

class StepSync {
 public:
  // Adds what this rank has to say. Called in the backward pass, maybe on a
  // thread of its own, as the first gradients leave.
  using Speak = std::function<void(Word& word)>;

  // `group` and `model` are borrowed; the model is the same on all ranks.
  StepSync(dist::ProcessGroup& group, const nn::Module& model,
           dist::BufferPolicy policy);

  // Before the last backward pass of a window. Of a rank whose numbers are not
  // `finite` the others get the buffers as they were before.
  void Begin(bool finite, Speak speak);

  // After it. Gradients are good until the next Begin(). Errors are
  // ProcessGroup's, and FAILED_PRECONDITION for ranks that have taken different
  // numbers of steps.
  absl::StatusOr<Agreement> Finish();

  // What the lowest rank that has something to tell tells, and who it is; where
  // all ranks know that one of them has. `own` may be empty.
  absl::StatusOr<std::string> Reason(const std::string& own);

 private:
  dist::ProcessGroup& group_;
  dist::GradientSync gradients_;
  dist::BufferSync buffers_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STEP_SYNC_H_
