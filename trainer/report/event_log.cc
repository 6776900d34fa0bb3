#include "trainer/report/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "events.out.tfevents.";

// In the order in which TensorBoard reads them: by name.
std::vector<fs::path> EventFiles(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kPrefix)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The time in a file's name; 0 if there is none.
int64_t TimeOf(const fs::path& file) {
  const std::string name = file.filename().string().substr(sizeof(kPrefix) - 1);
  int64_t time = 0;
  return absl::SimpleAtoi(name.substr(0, name.find('.')), &time) ? time : 0;
}

// Later by name than all of `old`, so that it is read after them.
std::string NewName(const std::vector<fs::path>& old, double now) {
  static std::atomic<int> count = 0;
  auto time = static_cast<int64_t>(now);
  for (const fs::path& file : old) time = std::max(time, TimeOf(file) + 1);
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(kPrefix, absl::StrFormat("%010d", time), ".", host, ".",
                      getpid(), ".", count.fetch_add(1));
}

absl::StatusOr<std::string> ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (file.is_open() && !file.bad()) return bytes;
  return ErrnoStatus(errno, "read", path.string());
}

// The records of `file` that still hold.
std::string Kept(std::string_view file, const EventLog::Keep& keep) {
  std::string kept;
  for (const std::string_view event : SplitRecords(file)) {
    const std::optional<EventHead> head = DecodeEvent(event);
    if (head && !head->tag.empty() && keep(*head)) kept += FrameRecord(event);
  }
  return kept;
}

absl::StatusOr<std::string> FirstContent(const std::vector<fs::path>& old,
                                         const EventLog::Keep& keep,
                                         double now) {
  std::string content = FrameRecord(EncodeFileVersion(now));
  if (old.empty()) return content;
  content += FrameRecord(EncodeSessionStart(now, 0));
  for (const fs::path& path : old) {
    const absl::StatusOr<std::string> file = ReadAll(path);
    if (!file.ok()) return file.status();
    content += Kept(*file, keep);
  }
  return content;
}

// Whatever fails here does no harm: readers forget what the file says.
void Retire(const fs::path& file) {
  std::error_code ignored;
  if (fs::file_size(file, ignored) == 0) {
    fs::remove(file, ignored);
  } else {
    fs::resize_file(file, 0, ignored);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Open(
    const std::string& folder, const Keep& keep, double now) {
  const std::vector<fs::path> old = EventFiles(folder);
  const absl::StatusOr<std::string> content = FirstContent(old, keep, now);
  if (!content.ok()) return content.status();
  const std::string path = absl::StrCat(folder, "/", NewName(old, now));
  const absl::Status written = WriteFileAtomically(path, *content);
  if (!written.ok()) return written;
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  for (const fs::path& file : old) Retire(file);
  return std::unique_ptr<EventLog>(new EventLog(path, fd));
}

EventLog::~EventLog() { close(fd_); }

absl::Status EventLog::Write(std::string_view event) {
  const std::string record = FrameRecord(event);
  if (write(fd_, record.data(), record.size()) ==
      static_cast<ssize_t>(record.size())) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "write", path_);
}

}  // namespace slipway
