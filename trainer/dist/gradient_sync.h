// Makes the gradients of all ranks one: their mean, sent in buckets while
// backward still computes the rest.
//
//   GradientSync sync(group, parameters, /*notes=*/1);
//   for (int i = 0; i < accumulate; ++i) {
//     if (i == accumulate - 1) {
//       sync.Begin([&](absl::Span<float> notes) { notes[0] = wants_to_stop; });
//     }
//     loss(i).backward();
//   }
//   absl::StatusOr<std::vector<float>> notes = sync.Finish();
//   if (notes.ok() && (*notes)[0] > 0) ...       // some rank wants to stop
//
// Backward passes before Begin() accumulate on each rank alone. Parameters that
// no rank has used keep no gradient; where only some have, the others add
// zeros. Notes are numbers that are summed over the ranks and ride in the first
// bucket, so that agreeing on something costs no operation of its own.
//
// The buckets hold the parameters in reverse, which is about the order in which
// backward reaches them; all ranks send them in the same order (Li et al., VLDB
// 2020, "PyTorch Distributed", section 3.2). After Finish() gradients are views
// of the buckets, with their parameters' strides, good until the next Begin().
//
// Belongs to the training thread; backward may call it from its own. Unless
// said otherwise nothing throws.
#ifndef SLIPWAY_TRAINER_DIST_GRADIENT_SYNC_H_
#define SLIPWAY_TRAINER_DIST_GRADIENT_SYNC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer/dist/process_group.h"

namespace slipway::dist {

struct BucketSizes {
  // The first one is small, so that sending begins early.
  int64_t first_bytes = int64_t{1} << 20;
  int64_t bytes = int64_t{25} << 20;
};

class GradientSync {
 public:
  using FillNotes = std::function<void(absl::Span<float> notes)>;

  // `group` is borrowed. Those of `parameters` that require gradients take
  // part, with a hook of this object's, one object at a time; they are the same
  // on all ranks. In a world of one gradients stay as they are. May throw
  // c10::Error.
  GradientSync(ProcessGroup& group, const std::vector<at::Tensor>& parameters,
               int notes = 0, BucketSizes sizes = {});
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // The next backward pass sends its gradients, on top of what parameters have
  // accumulated. `fill` is called once, when the first bucket leaves, with
  // zeros to write to.
  void Begin(FillNotes fill = nullptr);

  // Sends what backward did not, waits, and puts the means in place. Called
  // after Begin() on every rank, also where backward did not run. The notes'
  // sums; errors are ProcessGroup's, and FAILED_PRECONDITION for a parameter
  // whose gradient changed after it was sent, or is sparse.
  absl::StatusOr<std::vector<float>> Finish();

  // From now on every backward pass begins and finishes by itself; an error is
  // thrown out of it as c10::Error. For loops that are not ours.
  void SynchronizeEachBackward();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_GRADIENT_SYNC_H_
