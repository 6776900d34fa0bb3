// A cache of compiled packages: folders, by the hash of what they were made of.
//
//   Cache cache(*Cache::DefaultRoot());
//   auto found = cache.Find(key);                  // a folder to load, or why
//   not if (!found.ok()) {
//     auto lock = cache.TryLock(key);              // one compiles, others wait
//     if (lock.ok() && lock->has_value()) {
//       ... compile into cache.Scratch(key) ...
//       found = cache.Insert(key, cache.Scratch(key));
//     }
//   }
//
// Shared between processes and machines' ranks: entries appear and vanish
// whole, and what is read is checked against package.json first. What was not
// used for longest goes when there is more than `max_bytes`.
//
// Beneath the root: entries/<key>/, locks/<key>, scratch/. Every method may be
// called from any thread; none throws.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILER_CACHE_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILER_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway::compile {

// Held until it is destroyed, or until its process ends however that ends.
class CacheLock {
 public:
  explicit CacheLock(int descriptor) : descriptor_(descriptor) {}
  CacheLock(CacheLock&& other)
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CacheLock& operator=(CacheLock&& other) {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CacheLock();

 private:
  int descriptor_;
};

class Cache {
 public:
  static constexpr int64_t kDefaultMaxBytes = int64_t{4} << 30;

  explicit Cache(std::string root, int64_t max_bytes = kDefaultMaxBytes);

  // $SLIPWAY_CACHE, else $XDG_CACHE_HOME/slipway, else ~/.cache/slipway; in it
  // `compiled`. kFailedPrecondition where none of the variables is set.
  static absl::StatusOr<std::string> DefaultRoot();

  // The folder of an entry whose files are all there, with the sizes and hashes
  // that its package.json names. Counts as a use.
  //   kNotFound         there is none
  //   kDataLoss         it was damaged; it is gone now, and what was wrong with
  //                     it is said
  //   kInvalidArgument  keys are of letters, digits, '-', '_' and '.'
  absl::StatusOr<std::string> Find(const std::string& key) const;

  // The lock of an entry to be made; waits while another process or thread has
  // it. Look again with Find() once it is yours: the other has made it,
  // perhaps.
  absl::StatusOr<CacheLock> Lock(const std::string& key) const;
  // Nothing while another has it.
  absl::StatusOr<std::optional<CacheLock>> TryLock(
      const std::string& key) const;

  // Where to make the entry: a path for this process alone, the same for every
  // call, on the same file system. The folder around it is there; what lies at
  // it is left of somebody who was killed, and may be overwritten.
  absl::StatusOr<std::string> Scratch(const std::string& key) const;

  // Moves `folder`, which has a package.json, into the cache, and lets others
  // go if there are too many. Returns the entry's folder. Where there is a
  // sound one already, that stays and `folder` is removed.
  absl::StatusOr<std::string> Insert(const std::string& key,
                                     const std::string& folder) const;

  // Of an entry that turned out to be of no use, although it is undamaged.
  absl::Status Remove(const std::string& key) const;

  const std::string& root() const { return root_; }

 private:
  std::string EntryPath(const std::string& key) const;
  absl::StatusOr<std::optional<CacheLock>> Flock(const std::string& key,
                                                 int operation) const;
  // Removes what was unused for longest, but for `keep`.
  void Evict(const std::string& keep) const;
  void RemoveOldScratch() const;

  std::string root_;
  int64_t max_bytes_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILER_CACHE_H_
