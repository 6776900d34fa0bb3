// A folder for temporary files that vanishes with its holder, if need be by the
// hands of the next one.
//
//   absl::StatusOr<HeldFolder> folder = HeldFolder::Make("/tmp/slipway-ray-");
//   folder->path();   // "/tmp/slipway-ray-x1B2c3"
//
// A lock on a file in it, which whoever is forked meanwhile (a reaper) holds
// too, tells that it is in use. Make removes folders of its prefix that nobody
// holds: their holders were killed.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_HELD_FOLDER_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_HELD_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "launcher/supervisor/pipes.h"

namespace slipway::launcher {

class HeldFolder {
 public:
  // `prefix`: of absolute paths.
  static absl::StatusOr<HeldFolder> Make(const std::string& prefix);
  HeldFolder(HeldFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}
  HeldFolder& operator=(HeldFolder&&) = delete;
  ~HeldFolder();

  const std::string& path() const { return path_; }

 private:
  HeldFolder() = default;

  std::string path_;
  Descriptor lock_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_HELD_FOLDER_H_
