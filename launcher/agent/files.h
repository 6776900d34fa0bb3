// The files of a program on a machine that does not have them: compared by
// checksum, and unpacked beneath a folder where they differ.
//
//   ShippedFiles files;
//   files.Compare(ManifestOf(sums, Comparison::kInode));
//   // {"root": ""}: all are there, under their own paths, since this is the
//   // same file system; {"root": null}: not so
//   files.Compare(ManifestOf(sums, Comparison::kContent));
//   // {"root": ""} likewise, by their checksums; else
//   // {"root": "/tmp/slipway-agent-ab12cd"}, where they are expected as
//   // /tmp/slipway-agent-ab12cd/opt/x/program, in pieces:
//   files.Take(messages::Join({path, mode, "new", piece}));
//   files.Compare(ManifestOf(sums, Comparison::kUnpacked));
//   // {"root": ..., "complete": true} or {"error": ...}
//
// The folder vanishes with the object.
#ifndef SLIPWAY_LAUNCHER_AGENT_FILES_H_
#define SLIPWAY_LAUNCHER_AGENT_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/supervisor/held_folder.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {

// A file as a manifest names it.
struct FileSum {
  std::string path;  // absolute
  int mode = 0644;
  int64_t size = 0;
  int64_t inode = 0;
  int64_t modified = 0;  // nanoseconds
  std::string sha256;    // "": not known

  bool operator==(const FileSum&) const = default;
};

// Of a regular file, behind symbolic links too; without its checksum.
absl::StatusOr<FileSum> StatOf(const std::string& path);
// With it.
absl::StatusOr<FileSum> SumOf(const std::string& path);

enum class Comparison { kInode, kContent, kUnpacked };

std::string ManifestOf(const std::vector<FileSum>& files, Comparison how);

class ShippedFiles {
 public:
  // See the banner. Throws what nlohmann::json does for a manifest that is
  // none.
  nlohmann::json Compare(const std::string& manifest);
  // One piece of a file. INVALID_ARGUMENT for a path that would leave the
  // folder; else what the file system says.
  absl::Status Take(const std::string& piece);

 private:
  std::string root() const { return folder_ ? folder_->path() : ""; }

  std::optional<HeldFolder> folder_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_AGENT_FILES_H_
