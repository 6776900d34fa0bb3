// A checkpoint, or the one before it if it is damaged.
//
//   absl::StatusOr<FoundCheckpoint> found =
//       ReadCheckpointOrPrevious(run_dir + "/ckpt_latest.pth");
//   if (found.ok() && !found->warning.empty()) Warn(found->warning);
//
// The latest checkpoint of a run is written with Replaced::kPrevious, so that
// the one before it stays beside it under a hidden name.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_PREVIOUS_H_
#define SLIPWAY_TRAINER_CHECKPOINT_PREVIOUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {

struct FoundCheckpoint {
  Checkpoint checkpoint;
  // The file that was read.
  std::string path;
  // Empty if that is the file that was asked for; else why it is not, as one
  // sentence for the user.
  std::string warning;
};

// Reads `path`; if that is absent, damaged or no checkpoint, PreviousPath(path)
// (see atomic_file.h). If neither can be read the error is that of `path`, with
// a word on the other. Files that are whole and yet refused (of a newer
// Slipway: FAILED_PRECONDITION; not readable by this user) are not passed over.
absl::StatusOr<FoundCheckpoint> ReadCheckpointOrPrevious(
    const std::string& path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_PREVIOUS_H_
