// What ranks tell each other that is not one tensor: lists of tensors, numbers
// and texts.
//
//   RETURN_IF_ERROR(BroadcastTensors(group, model.StateDict()...));
//   std::vector<double> sums = {loss * samples, samples};
//   RETURN_IF_ERROR(AllReduce(group, sums));
//   absl::StatusOr<std::vector<std::string>> all = AllGather(group, text);
//
// All wait, need the same calls on every rank, and do nothing in a world of
// one. Errors are ProcessGroup's.
#ifndef SLIPWAY_TRAINER_DIST_COLLECTIVES_H_
#define SLIPWAY_TRAINER_DIST_COLLECTIVES_H_

#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer/dist/process_group.h"

namespace slipway::dist {

// Copies rank 0's values into every rank's `tensors`, which have the same types
// and sizes everywhere, whatever their strides. Those of one type travel
// together.
absl::Status BroadcastTensors(ProcessGroup& group,
                              const std::vector<at::Tensor>& tensors);

// Sums each tensor over all ranks, in place; the same holds for them.
absl::Status AllReduceTensors(ProcessGroup& group,
                              const std::vector<at::Tensor>& tensors);

// Sums each number over all ranks, in place.
absl::Status AllReduce(ProcessGroup& group, absl::Span<double> numbers);

// Each rank's text, of any length, in the order of ranks.
absl::StatusOr<std::vector<std::string>> AllGather(ProcessGroup& group,
                                                   const std::string& text);

// Rank 0's text.
absl::StatusOr<std::string> Broadcast(ProcessGroup& group,
                                      const std::string& text);

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_COLLECTIVES_H_
