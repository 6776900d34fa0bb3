// Versions of plugins and of the plugin API, and ranges of versions.
//
//   absl::StatusOr<Version> ema = Version::Parse("1.2.0");
//   absl::StatusOr<VersionRange> wanted = VersionRange::Parse("^1.1");
//   if (!wanted->Contains(*ema)) ...
//
// Versions are those of SemVer 2.0 (https://semver.org). Values only; safe from
// any thread.
#ifndef SLIPWAY_TRAINER_PLAN_VERSION_H_
#define SLIPWAY_TRAINER_PLAN_VERSION_H_

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::plan {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  // "rc.1" of 1.0.0-rc.1; empty for a release.
  std::string prerelease;

  // All three numbers must be there; build metadata ("+5") is dropped.
  // INVALID_ARGUMENT quotes the text and says what was expected.
  static absl::StatusOr<Version> Parse(std::string_view text);

  // As SemVer orders them: 1.0.0-rc.1 < 1.0.0-rc.2 < 1.0.0 < 1.0.1.
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version&) const = default;
};

// "1.2.0" or "1.0.0-rc.1".
std::string ToString(const Version& version);

// Which versions will do: comparators separated by spaces, all of which hold.
//
//   ^1.2       1.2.0 and later without a new major number; below 1.0.0 the
//              first number that is not zero must stay (^0.2 is >=0.2 <0.3)
//   ~1.2       1.2.0 and later patches
//   >=1.1 <2   > >= < <= as written; missing numbers are zeros
//   1.2        the numbers written are these (=1.2 says the same)
//   *          any
//
// A pre-release is in a range only if a comparator names a pre-release of the
// same three numbers.
class VersionRange {
 public:
  // Any version.
  VersionRange();

  // INVALID_ARGUMENT quotes the comparator that is none.
  static absl::StatusOr<VersionRange> Parse(std::string_view text);

  bool Contains(const Version& version) const;
  // True for "*".
  bool any() const { return bounds_.empty(); }
  // As it was written.
  const std::string& text() const { return text_; }

 private:
  struct Bound {
    enum class Kind { kAtLeast, kAbove, kBelow, kAtMost };
    Kind kind;
    Version version;
    bool Admits(const Version& candidate) const;
  };
  struct Comparator;

  static std::vector<Bound> BoundsOf(const Comparator& comparator);

  std::string text_ = "*";
  std::vector<Bound> bounds_;
};

// The plugin API that this Slipway speaks; a manifest's `api` must contain it.
Version PluginApi();

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_VERSION_H_
