#include "launcher/agent/files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/ray_driver/messages.h"
#include "trainer/plan/sha256.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<FileSum> FilesOf(const json& manifest) {
  std::vector<FileSum> files;
  for (const json& file : manifest.at("files")) {
    files.push_back({.path = file.at("path"),
                     .mode = file.at("mode"),
                     .size = file.at("size"),
                     .inode = file.at("inode"),
                     .modified = file.at("modified"),
                     .sha256 = file.at("sha256")});
  }
  return files;
}

// Absolute, and without "..": no piece may land outside the folder.
bool StaysInside(const std::string& path) {
  if (path.empty() || path[0] != '/') return false;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") return false;
  }
  return true;
}

// "" if the file beneath `root` is as it shall be.
std::string Difference(const std::string& root, const FileSum& wanted,
                       Comparison how) {
  const std::string path = root + wanted.path;
  const absl::StatusOr<FileSum> found =
      how == Comparison::kInode ? StatOf(path) : SumOf(path);
  if (!found.ok()) return std::string(found.status().message());
  const bool same =
      how == Comparison::kInode
          ? found->inode == wanted.inode && found->modified == wanted.modified
          : found->sha256 == wanted.sha256;
  return same && found->size == wanted.size ? ""
                                            : absl::StrCat(path, " differs");
}

}  // namespace

absl::StatusOr<FileSum> StatOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("no file ", path));
  }
  return FileSum{
      .path = path,
      .mode = static_cast<int>(info.st_mode & 0777),
      .size = static_cast<int64_t>(info.st_size),
      .inode = static_cast<int64_t>(info.st_ino),
      .modified = static_cast<int64_t>(info.st_mtim.tv_sec) * 1000000000 +
                  info.st_mtim.tv_nsec};
}

absl::StatusOr<FileSum> SumOf(const std::string& path) {
  absl::StatusOr<FileSum> sum = StatOf(path);
  if (!sum.ok()) return sum;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (sum->size > 0) content << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  sum->sha256 = plan::Sha256(content.str());
  return sum;
}

std::string ManifestOf(const std::vector<FileSum>& files, Comparison how) {
  json list = json::array();
  for (const FileSum& file : files) {
    list.push_back({{"path", file.path},
                    {"mode", file.mode},
                    {"size", file.size},
                    {"inode", file.inode},
                    {"modified", file.modified},
                    {"sha256", file.sha256}});
  }
  return json({{"how", how}, {"files", std::move(list)}}).dump();
}

json ShippedFiles::Compare(const std::string& text) {
  const json manifest = json::parse(text);
  const Comparison how = manifest.at("how");
  const bool unpacked = how == Comparison::kUnpacked;
  std::string difference;
  for (const FileSum& file : FilesOf(manifest)) {
    difference = Difference(unpacked ? root() : "", file, how);
    if (!difference.empty()) break;
  }
  if (unpacked && !difference.empty()) return {{"error", difference}};
  if (unpacked) return {{"root", root()}, {"complete", true}};
  if (difference.empty()) return {{"root", ""}};
  if (how == Comparison::kInode) return {{"root", nullptr}};
  absl::StatusOr<HeldFolder> folder =
      HeldFolder::Make(fs::temp_directory_path() / "slipway-agent-");
  if (!folder.ok()) {
    return {{"error", std::string(folder.status().message())}};
  }
  folder_.emplace(*std::move(folder));
  return {{"root", root()}};
}

absl::Status ShippedFiles::Take(const std::string& piece) {
  std::vector<std::string> parts;
  if (!folder_ || !messages::Split(piece, parts) || parts.size() != 4 ||
      !StaysInside(parts[0])) {
    return absl::InvalidArgumentError("a piece of a file that is none");
  }
  const fs::path path = root() + parts[0];
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, parts[2] == "new"
                               ? std::ios::binary | std::ios::trunc
                               : std::ios::binary | std::ios::app);
  file << parts[3];
  if (!file.flush()) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
  }
  const int mode = std::stoi("0" + parts[1], nullptr, 8);
  fs::permissions(path, static_cast<fs::perms>(mode), error);
  return absl::OkStatus();
}

}  // namespace slipway::launcher
