// Keeps the ranks' buffers equal: the running statistics of batch
// normalisation, which each rank moves by its own samples.
//
//   BufferSync sync(group, buffers, BufferPolicy::kReduce);
//   sync.Begin();          // after the last forward pass of a step
//   loss.backward();       // meanwhile they travel
//   RETURN_IF_ERROR(sync.Finish());
//
// Done once a step, so that validation, checkpoints and averages of the model
// see the same numbers on every rank. Statistics move linearly: the mean of the
// ranks' is what one rank would have with the mean of their batches'
// statistics. Integer buffers count the same everywhere and stay.
#ifndef SLIPWAY_TRAINER_DIST_BUFFER_SYNC_H_
#define SLIPWAY_TRAINER_DIST_BUFFER_SYNC_H_

#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/dist/process_group.h"

namespace slipway::dist {

enum class BufferPolicy {
  kReduce,     // the mean over the ranks
  kBroadcast,  // rank 0's
};

// Belongs to one thread. May throw c10::Error.
class BufferSync {
 public:
  // `group` is borrowed; of `buffers`, which are equal on all ranks now, those
  // of a floating-point type take part.
  BufferSync(ProcessGroup& group, const std::vector<at::Tensor>& buffers,
             BufferPolicy policy);

  // Sends the buffers' values. With `as_before` it sends those of the last
  // Finish() instead: what a rank has computed from values that are not finite
  // would spoil all ranks'.
  void Begin(bool as_before = false);

  // Waits, and writes what all ranks have agreed on. After Begin() only.
  absl::Status Finish();

 private:
  // Buffers of one type and device.
  struct Parcel {
    std::vector<at::Tensor> buffers;
    std::vector<at::Tensor> views;  // their places in flat
    at::Tensor flat;
    Work work;
  };
  void Add(const at::Tensor& buffer);

  ProcessGroup& group_;
  BufferPolicy policy_;
  std::vector<Parcel> parcels_;
};

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_BUFFER_SYNC_H_
