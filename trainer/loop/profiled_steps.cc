#include "trainer/loop/profiled_steps.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"

namespace slipway::loop {
namespace {

constexpr int64_t kWarmUp = 2;
constexpr int64_t kMost = 1'000'000;

std::optional<int64_t> Number(std::string_view text) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
  int64_t number = 0;
  if (!digits || !absl::SimpleAtoi(std::string(text), &number) ||
      number > kMost) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<ProfiledSteps> ParseProfiledSteps(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<int64_t> first = Number(text.substr(0, dash));
  if (!first) return std::nullopt;
  if (dash == text.npos) {
    if (*first == 0) return std::nullopt;
    return ProfiledSteps{.first = kWarmUp, .count = *first, .from_start = true};
  }
  const std::optional<int64_t> last = Number(text.substr(dash + 1));
  if (!last || *last < *first) return std::nullopt;
  return ProfiledSteps{.first = *first, .count = *last - *first + 1};
}

}  // namespace slipway::loop
