#include "launcher/supervisor/held_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

// The lock of a folder, made where it is missing; none if somebody has it.
Descriptor Lock(const std::string& folder, int how) {
  Descriptor file(
      open((folder + "/.lock").c_str(), O_RDWR | O_CLOEXEC | how, 0600));
  if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.Close();
  return file;
}

void RemoveThoseOfTheDead(const std::string& prefix) {
  const std::string name = fs::path(prefix).filename();
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(prefix).parent_path(), error)) {
    const std::string path = entry.path().string();
    if (!absl::StartsWith(entry.path().filename().string(), name)) continue;
    // One without a lock is being made.
    if (const Descriptor lock = Lock(path, 0); lock)
      fs::remove_all(path, error);
  }
}

}  // namespace

absl::StatusOr<HeldFolder> HeldFolder::Make(const std::string& prefix) {
  RemoveThoseOfTheDead(prefix);
  HeldFolder folder;
  std::string path = prefix + "XXXXXX";
  if (mkdtemp(path.data()) != nullptr) {
    folder.path_ = path;
    folder.lock_ = Lock(path, O_CREAT);
    if (folder.lock_) return folder;
  }
  return absl::UnavailableError(absl::StrCat("cannot make the folder ", path,
                                             ": ", std::strerror(errno)));
}

HeldFolder::~HeldFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace slipway::launcher
