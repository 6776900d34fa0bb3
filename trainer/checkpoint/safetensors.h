// Named tensors in the safetensors format, both ways.
//
//   absl::Status status = WriteSafetensors(model.StateDict(), {}, path);
//   absl::StatusOr<Safetensors> file = ReadSafetensors(path);
//
// What Python's safetensors package writes is read, and the reverse; the same
// tensors give the same bytes.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_H_
#define SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

struct Safetensors {
  // In the file's order: wide dtypes first, then by name.
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes atomically (atomic_file.h). Tensors of any device and strides; each is
// stored for itself, also where several share memory. INVALID_ARGUMENT names a
// tensor that the format cannot hold (complex128).
absl::Status WriteSafetensors(
    const std::vector<std::pair<std::string, at::Tensor>>& tensors,
    const std::map<std::string, std::string>& metadata,
    const std::string& path);

// All tensors, contiguous, on the CPU. Errors as ReadSafetensorsHeader's, with
// the path. The format has no checksum: other damage than to its header is not
// seen.
absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_H_
