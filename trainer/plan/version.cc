#include "trainer/plan/version.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace slipway::plan {
namespace {

// "1", "1.2" or "1.2.3-rc.1", and how many of the three numbers are written.
struct PartialVersion {
  Version version;
  int numbers = 0;
};

std::optional<int> TakeNumber(std::string_view& text) {
  int number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const size_t length = end - text.data();
  const bool padded = length > 1 && text[0] == '0';
  if (error != std::errc() || padded || text[0] == '-') return std::nullopt;
  text.remove_prefix(length);
  return number;
}

bool IsPrerelease(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.';
  };
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), allowed);
}

std::optional<PartialVersion> ParsePartial(std::string_view text) {
  text = text.substr(0, text.find('+'));
  PartialVersion partial;
  Version& version = partial.version;
  for (int* number : {&version.major, &version.minor, &version.patch}) {
    const std::optional<int> taken = TakeNumber(text);
    if (!taken) return std::nullopt;
    *number = *taken;
    ++partial.numbers;
    if (text.empty() || text[0] != '.' || partial.numbers == 3) break;
    text.remove_prefix(1);
  }
  if (text.empty()) return partial;
  if (partial.numbers < 3 || text[0] != '-') return std::nullopt;
  if (!IsPrerelease(text.substr(1))) return std::nullopt;
  version.prerelease = text.substr(1);
  return partial;
}

// The first version that has other leading numbers than `version`, of which
// `kept` stay: 1.2.3 with two kept gives 1.3.0.
Version Next(const Version& version, int kept) {
  if (kept == 1) return {version.major + 1, 0, 0, ""};
  if (kept == 2) return {version.major, version.minor + 1, 0, ""};
  return {version.major, version.minor, version.patch + 1, ""};
}

// How many leading numbers a caret keeps: those up to the first that is not
// zero, among those that are written.
int KeptByCaret(const PartialVersion& partial) {
  const Version& version = partial.version;
  if (version.major > 0 || partial.numbers == 1) return 1;
  return version.minor > 0 || partial.numbers == 2 ? 2 : 3;
}

std::string_view TakeField(std::string_view& list) {
  const size_t end = list.find('.');
  const std::string_view field = list.substr(0, end);
  list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  return field;
}

bool IsNumeric(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

// Numbers stand below words, and compare by value: the longer is the larger.
std::strong_ordering CompareFields(std::string_view a, std::string_view b) {
  if (IsNumeric(a) != IsNumeric(b)) return IsNumeric(b) <=> IsNumeric(a);
  if (IsNumeric(a) && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

std::strong_ordering ComparePrereleases(std::string_view a,
                                        std::string_view b) {
  // A release comes after its pre-releases.
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  while (!a.empty() && !b.empty()) {
    const auto order = CompareFields(TakeField(a), TakeField(b));
    if (order != 0) return order;
  }
  return b.empty() <=> a.empty();
}

bool SameNumbers(const Version& a, const Version& b) {
  return a.major == b.major && a.minor == b.minor && a.patch == b.patch;
}

std::string_view TakeOperator(std::string_view& text) {
  for (const std::string_view op : {">=", "<=", ">", "<", "=", "^", "~"}) {
    if (!text.starts_with(op)) continue;
    text.remove_prefix(op.size());
    return op;
  }
  return "=";
}

std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

absl::StatusOr<Version> Version::Parse(std::string_view text) {
  const std::optional<PartialVersion> partial = ParsePartial(text);
  if (partial && partial->numbers == 3) return partial->version;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(text),
                   "\" is no version: expected three numbers such as 1.2.0"));
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  if (major != other.major) return major <=> other.major;
  if (minor != other.minor) return minor <=> other.minor;
  if (patch != other.patch) return patch <=> other.patch;
  return ComparePrereleases(prerelease, other.prerelease);
}

std::string ToString(const Version& version) {
  const std::string numbers =
      absl::StrCat(version.major, ".", version.minor, ".", version.patch);
  if (version.prerelease.empty()) return numbers;
  return absl::StrCat(numbers, "-", version.prerelease);
}

struct VersionRange::Comparator {
  std::string_view op;
  PartialVersion operand;
};

VersionRange::VersionRange() = default;

absl::StatusOr<VersionRange> VersionRange::Parse(std::string_view text) {
  VersionRange range;
  range.text_ = text;
  bool empty = true;
  for (std::string_view word = TakeWord(text); !word.empty();
       word = TakeWord(text)) {
    empty = false;
    if (word == "*") continue;
    const std::string whole(word);
    const std::string_view op = TakeOperator(word);
    const std::optional<PartialVersion> operand = ParsePartial(word);
    if (!operand) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", whole, "\" is no range of versions: expected one such as ",
          "\"^1.2\" or \">=1.1 <2\""));
    }
    const std::vector<Bound> bounds = BoundsOf({op, *operand});
    range.bounds_.insert(range.bounds_.end(), bounds.begin(), bounds.end());
  }
  if (empty)
    return absl::InvalidArgumentError("the range of versions is empty");
  return range;
}

std::vector<VersionRange::Bound> VersionRange::BoundsOf(
    const Comparator& comparator) {
  using Kind = Bound::Kind;
  const auto& [op, operand] = comparator;
  const Version& version = operand.version;
  const bool whole = operand.numbers == 3;
  const Version after = Next(version, operand.numbers);
  const Bound from = {Kind::kAtLeast, version};
  const Bound up_to = {whole ? Kind::kAtMost : Kind::kBelow,
                       whole ? version : after};
  if (op == "<") return {{Kind::kBelow, version}};
  if (op == "<=") return {up_to};
  if (op == ">")
    return {whole ? Bound{Kind::kAbove, version}
                  : Bound{Kind::kAtLeast, after}};
  if (op == ">=") return {from};
  if (op == "^")
    return {from, {Kind::kBelow, Next(version, KeptByCaret(operand))}};
  const int patches = std::min(operand.numbers, 2);
  if (op == "~") return {from, {Kind::kBelow, Next(version, patches)}};
  return {from, up_to};
}

bool VersionRange::Bound::Admits(const Version& candidate) const {
  switch (kind) {
    case Kind::kAtLeast:
      return candidate >= version;
    case Kind::kAbove:
      return candidate > version;
    case Kind::kBelow:
      return candidate < version;
    case Kind::kAtMost:
      break;
  }
  return candidate <= version;
}

bool VersionRange::Contains(const Version& version) const {
  bool prerelease_named = version.prerelease.empty() || any();
  for (const Bound& bound : bounds_) {
    if (!bound.Admits(version)) return false;
    prerelease_named |= !bound.version.prerelease.empty() &&
                        SameNumbers(bound.version, version);
  }
  return prerelease_named;
}

Version PluginApi() { return {1, 2, 0, ""}; }

}  // namespace slipway::plan
