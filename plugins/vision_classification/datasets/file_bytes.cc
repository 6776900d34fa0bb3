#include "plugins/vision_classification/datasets/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace slipway::vision_classification {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

// How many bytes follow the first one of a character; -1 if it can be none.
int BytesThatFollow(uint8_t first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    int follow = BytesThatFollow(static_cast<uint8_t>(text[i]));
    if (follow < 0) return false;
    for (; follow > 0; --follow) {
      if (++i == text.size()) return false;
      if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

absl::StatusOr<std::string> ReadAll(int descriptor, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "cannot read it");
    if (count == 0) return absl::DataLossError("it has become shorter");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ReadFileBytes(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot open it");
  const absl::Cleanup close_it = [&] { close(descriptor); };
  struct stat info;
  if (fstat(descriptor, &info) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read it");
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::DataLossError("expected a file, found something else");
  }
  if (info.st_size > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "it has ", info.st_size, " bytes, expected at most ", kMostBytes));
  }
  return ReadAll(descriptor, info.st_size);
}

std::string Quoted(std::string_view path) {
  const std::string bytes(path);
  return absl::StrCat(
      "\"",
      IsUtf8(path) ? absl::Utf8SafeCHexEscape(bytes) : absl::CHexEscape(bytes),
      "\"");
}

}  // namespace slipway::vision_classification
