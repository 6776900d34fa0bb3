#include "plugins/compile/compiler/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/sha256.h"

namespace slipway::compile {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "package.json";
// Scratch of processes that were killed.
constexpr auto kOldScratch = std::chrono::hours(24);

absl::Status CheckKey(const std::string& key) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (plain && !key.empty() && key[0] != '.') return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" is no key of the cache"));
}

absl::Status Failed(const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(
      absl::StrCat("the cache: ", path, ": ", error.message()));
}

absl::Status FailedCall(const std::string& path) {
  return Failed(path, std::error_code(errno, std::generic_category()));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Failed(path, error) : absl::OkStatus();
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
}

// What is wrong with a file that package.json names, or "".
std::string Damage(const std::string& folder, const std::string& name,
                   const nlohmann::json& about) {
  // Of this folder, and in one way of writing it.
  const fs::path relative(name);
  const bool within = relative.is_relative() && !name.empty() &&
                      relative.lexically_normal() == relative &&
                      *relative.begin() != "..";
  if (!within || !about.is_object()) {
    return absl::StrCat(kManifest, " is not right");
  }
  const std::string path = absl::StrCat(folder, "/", name);
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return absl::StrCat(name, ": ", error.message());
  if (about.value("bytes", nlohmann::json()) != size) {
    return absl::StrCat(name, " has ", size, " bytes");
  }
  if (about.value("sha256", nlohmann::json()) != plan::Sha256(Read(path))) {
    return absl::StrCat(name, " has other content than was written");
  }
  return "";
}

// What is wrong with an entry, or "".
std::string Damage(const std::string& folder) {
  const auto json = nlohmann::json::parse(
      Read(absl::StrCat(folder, "/", kManifest)), nullptr, false);
  if (!json.is_object()) return absl::StrCat(kManifest, " cannot be read");
  const auto files = json.find("files");
  if (files == json.end() || !files->is_object() || files->empty()) {
    return absl::StrCat(kManifest, " names no files");
  }
  for (const auto& [name, about] : files->items()) {
    std::string damage = Damage(folder, name, about);
    if (!damage.empty()) return damage;
  }
  return "";
}

// Vanishes in one step for others; where it cannot, nothing is lost.
void RemoveFolder(const std::string& folder, const std::string& scratch) {
  static std::atomic<int> count = 0;
  const std::string away =
      absl::StrCat(scratch, "/gone-", getpid(), "-", count.fetch_add(1));
  std::error_code error;
  fs::create_directories(scratch, error);
  fs::rename(folder, away, error);
  fs::remove_all(error ? folder : away, error);
}

int64_t BytesIn(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    const uintmax_t size = it->file_size(gone);
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

struct Entry {
  std::string key;
  fs::file_time_type used;
  int64_t bytes;
};

std::vector<Entry> EntriesIn(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    const fs::file_time_type used = fs::last_write_time(it->path(), gone);
    if (gone) continue;
    entries.push_back(
        {it->path().filename().string(), used, BytesIn(it->path().string())});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return entries;
}

bool IsStillAt(const std::string& path, int descriptor) {
  struct stat there = {};
  struct stat ours = {};
  return stat(path.c_str(), &there) == 0 && fstat(descriptor, &ours) == 0 &&
         there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}

}  // namespace

CacheLock::~CacheLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Cache::Cache(std::string root, int64_t max_bytes)
    : root_(std::move(root)), max_bytes_(max_bytes) {}

absl::StatusOr<std::string> Cache::DefaultRoot() {
  const struct {
    const char* variable;
    const char* beneath;
  } kPlaces[] = {{"SLIPWAY_CACHE", "/compiled"},
                 {"XDG_CACHE_HOME", "/slipway/compiled"},
                 {"HOME", "/.cache/slipway/compiled"}};
  for (const auto& place : kPlaces) {
    const char* const value = getenv(place.variable);
    if (value && *value) return absl::StrCat(value, place.beneath);
  }
  return absl::FailedPreconditionError(
      "no folder for compiled graphs: set SLIPWAY_CACHE or HOME");
}

absl::StatusOr<std::string> Cache::Find(const std::string& key) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  const std::string folder = EntryPath(key);
  std::error_code error;
  if (!fs::exists(folder, error)) {
    return absl::NotFoundError(absl::StrCat("nothing in the cache for ", key));
  }
  if (const std::string damage = Damage(folder); !damage.empty()) {
    RemoveFolder(folder, root_ + "/scratch");
    return absl::DataLossError(absl::StrCat(
        "the compiled graph ", key, " was damaged, and is removed: ", damage));
  }
  fs::last_write_time(folder, fs::file_time_type::clock::now(), error);
  return folder;
}

absl::StatusOr<CacheLock> Cache::Lock(const std::string& key) const {
  auto lock = Flock(key, LOCK_EX);
  if (!lock.ok()) return lock.status();
  return *std::move(*lock);
}

absl::StatusOr<std::optional<CacheLock>> Cache::TryLock(
    const std::string& key) const {
  return Flock(key, LOCK_EX | LOCK_NB);
}

absl::StatusOr<std::optional<CacheLock>> Cache::Flock(const std::string& key,
                                                      int operation) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  if (absl::Status status = MakeFolder(root_ + "/locks"); !status.ok()) {
    return status;
  }
  const std::string path = absl::StrCat(root_, "/locks/", key);
  while (true) {
    const int descriptor =
        open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (descriptor < 0) return FailedCall(path);
    CacheLock lock(descriptor);
    int result = 0;
    do {
      result = flock(descriptor, operation);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) return std::nullopt;
    if (result != 0) return FailedCall(path);
    // Its file may have gone, with its entry, while we waited.
    if (IsStillAt(path, descriptor)) return lock;
  }
}

absl::StatusOr<std::string> Cache::Scratch(const std::string& key) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  const std::string folder = root_ + "/scratch";
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return absl::StrCat(folder, "/", key, "-", getpid());
}

absl::StatusOr<std::string> Cache::Insert(const std::string& key,
                                          const std::string& folder) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  if (const std::string damage = Damage(folder); !damage.empty()) {
    return absl::DataLossError(
        absl::StrCat("a compiled graph cannot be kept: ", damage));
  }
  if (absl::Status status = MakeFolder(root_ + "/entries"); !status.ok()) {
    return status;
  }
  const std::string entry = EntryPath(key);
  std::error_code error;
  fs::rename(folder, entry, error);
  if (error) {
    // Another was first; a damaged one makes room.
    if (!Find(key).ok()) fs::rename(folder, entry, error);
    if (!fs::exists(entry)) return Failed(entry, error);
    fs::remove_all(folder, error);
  }
  fs::last_write_time(entry, fs::file_time_type::clock::now(), error);
  Evict(key);
  RemoveOldScratch();
  return entry;
}

absl::Status Cache::Remove(const std::string& key) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  RemoveFolder(EntryPath(key), root_ + "/scratch");
  return absl::OkStatus();
}

std::string Cache::EntryPath(const std::string& key) const {
  return absl::StrCat(root_, "/entries/", key);
}

void Cache::Evict(const std::string& keep) const {
  const std::vector<Entry> entries = EntriesIn(root_ + "/entries");
  int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) break;
    if (entry.key == keep) continue;
    // Not one that is being made anew.
    const auto lock = TryLock(entry.key);
    if (!lock.ok() || !lock->has_value()) continue;
    RemoveFolder(EntryPath(entry.key), root_ + "/scratch");
    std::error_code error;
    fs::remove(absl::StrCat(root_, "/locks/", entry.key), error);
    total -= entry.bytes;
  }
}

void Cache::RemoveOldScratch() const {
  std::error_code error;
  const auto oldest = fs::file_time_type::clock::now() - kOldScratch;
  for (fs::directory_iterator it(root_ + "/scratch", error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (fs::last_write_time(it->path(), gone) < oldest && !gone) {
      fs::remove_all(it->path(), gone);
    }
  }
}

}  // namespace slipway::compile
