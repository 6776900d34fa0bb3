#include "trainer/checkpoint/previous.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

bool MayBePassedOver(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status) ||
         absl::IsInvalidArgument(status);
}

}  // namespace

absl::StatusOr<FoundCheckpoint> ReadCheckpointOrPrevious(
    const std::string& path) {
  absl::StatusOr<Checkpoint> latest = ReadCheckpoint(path);
  if (latest.ok()) return FoundCheckpoint{*std::move(latest), path, ""};
  const std::string previous = PreviousPath(path);
  std::error_code error;
  if (!MayBePassedOver(latest.status()) ||
      !std::filesystem::exists(previous, error)) {
    return latest.status();
  }
  absl::StatusOr<Checkpoint> older = ReadCheckpoint(previous);
  if (!older.ok()) {
    return absl::Status(latest.status().code(),
                        absl::StrCat(latest.status().message(),
                                     "; nor can the one before it be read: ",
                                     older.status().message()));
  }
  return FoundCheckpoint{*std::move(older), previous,
                         absl::StrCat("the latest checkpoint cannot be read (",
                                      latest.status().message(),
                                      "); continuing from the one "
                                      "before it, ",
                                      previous)};
}

}  // namespace slipway
