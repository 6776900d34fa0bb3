#include "trainer/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

absl::Status CreateFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), "create", path.string());
  return absl::OkStatus();
}

bool HoldsRun(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "metrics.jsonl", error) ||
         fs::exists(path / "result.json", error);
}

// What a killed run was writing.
void RemoveTemporaries(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".tmp") left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file, error);
}

// A link cannot be changed in place: a new one is renamed over it.
absl::Status PointLatestAt(const fs::path& run) {
  const fs::path link = run.parent_path() / "latest";
  const fs::path fresh = run.parent_path() / absl::StrCat(".latest.", getpid());
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_symlink(run.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) return ErrnoStatus(error.value(), "create", link.string());
  return absl::OkStatus();
}

}  // namespace

std::string RunFolderPath(const RunFolderRequest& request, absl::Time now) {
  std::error_code error;
  if (!request.run_dir.empty()) {
    return fs::absolute(request.run_dir, error).lexically_normal().string();
  }
  const std::string name =
      absl::FormatTime("RUN_%Y%m%d_%H%M%S_", now, absl::LocalTimeZone()) +
      absl::FormatTime("%E6f", now, absl::UTCTimeZone());
  return absl::StrCat(ExperimentFolder(request), "/", name);
}

std::string ExperimentFolder(const RunFolderRequest& request) {
  std::error_code error;
  return (fs::absolute(request.ckpt_root_dir, error) / request.experiment_name)
      .lexically_normal()
      .string();
}

bool HoldsCheckpoint(const std::string& folder, const std::string& name) {
  const std::string path = absl::StrCat(folder, "/", name);
  std::error_code error;
  return fs::exists(path, error) || fs::exists(PreviousPath(path), error);
}

// Names are times, so that they sort by age.
std::vector<std::string> RunsWith(const RunFolderRequest& request,
                                  const std::string& name) {
  std::vector<std::string> runs;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(ExperimentFolder(request), error)) {
    const std::string run = entry.path().filename().string();
    if (run.starts_with("RUN_") && HoldsCheckpoint(entry.path(), name)) {
      runs.push_back(run);
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

absl::StatusOr<RunFolderLock> RunFolderLock::Take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open the folder", path);
  RunFolderLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
  return absl::FailedPreconditionError(
      absl::StrCat("another run writes into ", path,
                   "; wait for its end, or name another "
                   "folder"));
}

RunFolderLock::RunFolderLock(RunFolderLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

RunFolderLock& RunFolderLock::operator=(RunFolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

RunFolderLock::~RunFolderLock() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<RunFolderLock> CreateRunFolder(
    const std::string& path, const RunFolderRequest& request,
    const std::vector<std::pair<std::string, std::string>>& files,
    bool continues) {
  if (HoldsRun(path) && !continues) {
    return absl::AlreadyExistsError(
        absl::StrCat(path,
                     " holds a run already; continue it with resume=true,"
                     " or name another folder"));
  }
  absl::Status status = CreateFolder(path);
  if (!status.ok()) return status;
  absl::StatusOr<RunFolderLock> lock = RunFolderLock::Take(path);
  if (!lock.ok()) return lock;
  if (continues) {
    std::error_code error;
    fs::remove(fs::path(path) / "result.json", error);
    RemoveTemporaries(path);
  }
  for (const auto& [name, content] : files) {
    status = WriteFileAtomically(absl::StrCat(path, "/", name), content);
    if (!status.ok()) return status;
  }
  if (request.run_dir.empty()) status = PointLatestAt(path);
  if (!status.ok()) return status;
  return lock;
}

absl::Status ResultReporter::OnEnd(const EndReport& end) {
  // Texts of the system's may be no UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return WriteFileAtomically(
      path_, end.result.dump(2, ' ', /*ensure_ascii=*/false, kReplace) + "\n");
}

}  // namespace slipway
