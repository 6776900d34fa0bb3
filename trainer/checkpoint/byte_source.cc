#include "trainer/checkpoint/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

absl::Status PastTheEnd(uint64_t offset, uint64_t length, uint64_t size) {
  return absl::DataLossError(absl::StrCat("needs ", length, " bytes at offset ",
                                          offset, ", but there are only ", size,
                                          ": truncated or damaged"));
}

bool Fits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

class FileSource : public ByteSource {
 public:
  FileSource(std::string path, int fd, uint64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  ~FileSource() override { close(fd_); }

  uint64_t size() const override { return size_; }

  absl::Status Read(uint64_t offset, uint64_t length,
                    char* out) const override {
    if (!Fits(offset, length, size_)) return PastTheEnd(offset, length, size_);
    while (length > 0) {
      const ssize_t got = pread(fd_, out, length, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "read", path_);
      if (got == 0) return PastTheEnd(offset, length, offset);
      out += got;
      offset += static_cast<uint64_t>(got);
      length -= static_cast<uint64_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  std::string path_;
  int fd_;
  uint64_t size_;
};

class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  absl::Status Read(uint64_t offset, uint64_t length,
                    char* out) const override {
    if (!Fits(offset, length, size())) {
      return PastTheEnd(offset, length, size());
    }
    if (length > 0) std::memcpy(out, bytes_.data() + offset, length);
    return absl::OkStatus();
  }

 private:
  std::string_view bytes_;
};

}  // namespace

ByteSource::~ByteSource() = default;

absl::StatusOr<std::string> ByteSource::Read(uint64_t offset,
                                             uint64_t length) const {
  if (!Fits(offset, length, size())) return PastTheEnd(offset, length, size());
  std::string bytes(length, '\0');
  absl::Status status = Read(offset, length, bytes.data());
  if (!status.ok()) return status;
  return bytes;
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": not a regular file"));
  }
  return std::make_unique<FileSource>(path, fd,
                                      static_cast<uint64_t>(info.st_size));
}

std::unique_ptr<ByteSource> MemorySource(std::string_view bytes) {
  return std::make_unique<StringSource>(bytes);
}

}  // namespace slipway
