#include "trainer/recipe/scalar.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace slipway::recipe {
namespace {

constexpr std::string_view kDecimal = "0123456789";
constexpr std::string_view kDecimalOrLine = "0123456789_";

template <size_t N>
bool IsOneOf(std::string_view text, const std::array<std::string_view, N>& set) {
  for (std::string_view word : set) {
    if (text == word) return true;
  }
  return false;
}

bool IsNull(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null",
                                                     "NULL"};
  return IsOneOf(text, kNull);
}

std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 9> kTrue = {
      "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
  constexpr std::array<std::string_view, 9> kFalse = {
      "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  if (IsOneOf(text, kTrue)) return true;
  if (IsOneOf(text, kFalse)) return false;
  return std::nullopt;
}

bool Contains(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

bool ConsistsOf(std::string_view text, std::string_view set) {
  return text.find_first_not_of(set) == std::string_view::npos;
}

// Takes the longest start of `text` that consists of `set`.
std::string_view Take(std::string_view& text, std::string_view set) {
  const std::string_view taken = text.substr(0, text.find_first_not_of(set));
  text.remove_prefix(taken.size());
  return taken;
}

// Takes a sign; true for a minus.
bool TakeSign(std::string_view& text) {
  if (text.empty() || !Contains("+-", text[0])) return false;
  const bool minus = text[0] == '-';
  text.remove_prefix(1);
  return minus;
}

std::string WithoutLines(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  return digits;
}

// Places of a number in sixties, as in 1:30: each is [0-5]?[0-9] but the first.
bool TakeSixties(std::string_view& text) {
  bool any = false;
  while (absl::ConsumePrefix(reinterpret_cast<absl::string_view*>(&text), ":")) {
    any = true;
  }
  return any;
}

}  // namespace
}  // namespace slipway::recipe
