#include "trainer/run_folder.h"

#include <unistd.h>

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
  return (fs::absolute(request.ckpt_root_dir, error) / request.experiment_name /
          name)
      .lexically_normal()
      .string();
}

absl::Status CreateRunFolder(
    const std::string& path, const RunFolderRequest& request,
    const std::vector<std::pair<std::string, std::string>>& files) {
  if (HoldsRun(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " holds a run already; name another folder"));
  }
  absl::Status status = CreateFolder(path);
  for (const auto& [name, content] : files) {
    if (!status.ok()) return status;
    status = WriteFileAtomically(absl::StrCat(path, "/", name), content);
  }
  if (!status.ok() || !request.run_dir.empty()) return status;
  return PointLatestAt(path);
}

absl::Status ResultReporter::OnEnd(const EndReport& end) {
  // Texts of the system's may be no UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return WriteFileAtomically(
      path_, end.result.dump(2, ' ', /*ensure_ascii=*/false, kReplace) + "\n");
}

}  // namespace slipway
