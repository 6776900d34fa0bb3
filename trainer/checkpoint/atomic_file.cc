#include "trainer/checkpoint/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/fault_point.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = ".tmp";
constexpr uint64_t kWriteAtOnce = 8 << 20;

// Makes the rename itself survive a power cut.
absl::Status SyncFolderOf(const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open the folder", folder);
  const int failed = fsync(fd);
  const int error = errno;
  close(fd);
  // Some network file systems cannot sync folders; the file itself is safe.
  if (failed != 0 && error != EINVAL) {
    return ErrnoStatus(error, "flush the folder", folder);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ErrnoStatus(int error, std::string_view action,
                         std::string_view path) {
  const std::string message =
      absl::StrCat("cannot ", std::string(action), " ", std::string(path), ": ",
                   std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnknownError(message);
  }
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  // The process id tells apart two runs that write into one folder.
  std::string temporary = absl::StrCat(path, ".", getpid(), kTemporary);
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "create", temporary);
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      started_(other.started_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  temporary_ = std::move(other.temporary_);
  fd_ = std::exchange(other.fd_, -1);
  size_ = other.size_;
  started_ = other.started_;
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  unlink(temporary_.c_str());
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  FaultPoint("write_before");
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write", temporary_);
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
  FaultPoint("write_after");
  if (size_ - started_ >= kWriteAtOnce) StartWriting();
  return absl::OkStatus();
}

// The disk works while more is appended, and Commit has less to wait for. Only
// a hint: what fails here fails in Commit.
void AtomicFile::StartWriting() {
  sync_file_range(fd_, static_cast<off64_t>(started_),
                  static_cast<off64_t>(size_ - started_),
                  SYNC_FILE_RANGE_WRITE);
  started_ = size_;
}

// A second name is made, then put in place of the older previous one, so that
// there is a whole file under either name whenever the process dies.
absl::Status AtomicFile::KeepReplaced() const {
  const std::string previous = PreviousPath(path_);
  const std::string fresh = absl::StrCat(previous, ".", getpid(), kTemporary);
  unlink(fresh.c_str());
  if (link(path_.c_str(), fresh.c_str()) == 0) {
    if (rename(fresh.c_str(), previous.c_str()) == 0) return absl::OkStatus();
  } else if (errno == ENOENT) {
    return absl::OkStatus();  // there is none yet
  } else if (rename(path_.c_str(), previous.c_str()) == 0) {
    return absl::OkStatus();  // no hard links here
  }
  return ErrnoStatus(errno, "keep", previous);
}

absl::Status AtomicFile::Commit(Replaced replaced) {
  FaultPoint("fsync_before");
  if (fsync(fd_) != 0) return ErrnoStatus(errno, "flush", temporary_);
  FaultPoint("fsync_after");
  FaultPoint("rename_before");
  if (replaced == Replaced::kPrevious) {
    if (absl::Status kept = KeepReplaced(); !kept.ok()) return kept;
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, "put in place", path_);
  }
  FaultPoint("rename_after");
  close(std::exchange(fd_, -1));
  return SyncFolderOf(path_);
}

absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view content) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = file->Append(content); !status.ok()) return status;
  return file->Commit();
}

std::string PreviousPath(const std::string& path) {
  const fs::path file(path);
  return (file.parent_path() /
          absl::StrCat(".", file.filename().string(), ".previous"))
      .string();
}

}  // namespace slipway
