// The mean of the weights in several files.
//
//   absl::StatusOr<std::vector<nn::NamedTensor>> mean =
//       AverageNets({"averaging/3.pth", "averaging/7.pth"});
#ifndef SLIPWAY_TRAINER_CHECKPOINT_AVERAGE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_AVERAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/nn/module.h"

namespace slipway {

// The mean of each tensor of the files' "net", of the dtype that it has there;
// summed in double precision. Tensors of whole numbers (batches seen) are the
// last file's. Reads one tensor of one file at a time, so that memory holds the
// result and little else. `paths` is not empty. INVALID_ARGUMENT names the file
// and the first tensor in which it differs from the first one; other errors as
// TensorFile's.
absl::StatusOr<std::vector<nn::NamedTensor>> AverageNets(
    const std::vector<std::string>& paths);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_AVERAGE_H_
