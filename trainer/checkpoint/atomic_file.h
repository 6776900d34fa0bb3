// A file that appears whole or not at all.
//
//   absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
//   RETURN_IF_ERROR(file->Append(header));
//   RETURN_IF_ERROR(file->Append(payload));
//   return file->Commit();
//
// What is appended goes to a temporary file beside `path`. Commit flushes it to
// the disk, renames it into place and flushes the folder; until then `path` is
// as it was. An AtomicFile that is destroyed without Commit leaves nothing.
//
// Fault points: kFileFaultPoints, in this order; those of write are around each
// Append.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_ATOMIC_FILE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_ATOMIC_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// See fault_point.h.
inline constexpr const char* kFileFaultPoints[] = {
    "write_before", "write_after",   "fsync_before",
    "fsync_after",  "rename_before", "rename_after"};

// What becomes of the file that is replaced.
enum class Replaced {
  kGone,
  // It stays as PreviousPath(path). Where the file system has no hard links,
  // the path has no file for a moment, while the previous one is whole.
  kPrevious,
};

// Used from one thread; movable.
class AtomicFile {
 public:
  // Errors name the path and the system's reason (NOT_FOUND: no such folder;
  // PERMISSION_DENIED; RESOURCE_EXHAUSTED: disk full).
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Writes all of `bytes`, or returns why not.
  absl::Status Append(std::string_view bytes);
  // Bytes appended so far.
  uint64_t size() const { return size_; }
  // After this nothing else may be called.
  absl::Status Commit(Replaced replaced = Replaced::kGone);

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  void Discard();
  absl::Status KeepReplaced() const;
  void StartWriting();

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t started_ = 0;  // bytes that the disk has been asked to take
};

// Writes `content` as the whole of the file at `path`, atomically.
absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view content);

// Where Replaced::kPrevious keeps what was at `path`: a hidden sibling,
// "ckpt_latest.pth" -> ".ckpt_latest.pth.previous".
std::string PreviousPath(const std::string& path);

// errno as a Status: "cannot <action> <path>: <reason>".
absl::Status ErrnoStatus(int error, std::string_view action,
                         std::string_view path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_ATOMIC_FILE_H_
