#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/recipe/problem.h"

namespace slipway {
namespace {

// Names that differ only in case and separators are the same to a reader.
std::string Fold(std::string_view name) {
  std::string folded;
  for (unsigned char c : name) {
    if (std::isalnum(c) || c >= 0x80) folded += std::tolower(c);
  }
  return folded;
}

// Edit distance in which two swapped neighbours count once (optimal string
// alignment), in three rows.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + !same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::move(above);
    above = std::move(row);
  }
  return above[b.size()];
}

constexpr size_t kFar = std::numeric_limits<size_t>::max();
// A name within another counts as near, after all that are near by edits.
constexpr size_t kContained = 1000;
constexpr size_t kShortestContained = 4;
// Longer text is no misspelt name; comparing it would only cost time.
constexpr size_t kLongestName = 200;

size_t Score(std::string_view a, std::string_view b) {
  const auto [shorter, longer] = std::minmax({a.size(), b.size()});
  if (shorter == 0 || longer > kLongestName) return kFar;
  const size_t distance = EditDistance(a, b);
  if (distance < longer && distance <= std::max<size_t>(1, longer / 3)) {
    return distance;
  }
  const std::string_view part = a.size() == shorter ? a : b;
  const std::string_view whole = a.size() == shorter ? b : a;
  const bool contained = whole.find(part) != std::string_view::npos;
  if (shorter < kShortestContained || !contained) return kFar;
  return kContained + longer - shorter;
}

}  // namespace

std::string NearestName(std::string_view name,
                        const std::vector<std::string>& known) {
  const std::string folded = Fold(name);
  const std::string* nearest = nullptr;
  size_t best = kFar;
  for (const std::string& candidate : known) {
    const size_t score = Score(folded, Fold(candidate));
    if (score < best) {
      best = score;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string DidYouMean(std::string_view name,
                       const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  if (nearest.empty()) return {};
  return "did you mean \"" + nearest + "\"?";
}

}  // namespace slipway
