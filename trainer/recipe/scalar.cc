#include "trainer/recipe/scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace slipway::recipe {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kDigitsAndLines = "0123456789_";

bool IsOneOf(std::string_view text,
             std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

bool StartsWithOneOf(std::string_view text, std::string_view set) {
  return !text.empty() && set.find(text[0]) != set.npos;
}

// Takes the longest start of `text` that consists of `set`.
std::string_view Take(std::string_view& text, std::string_view set) {
  const std::string_view taken = text.substr(0, text.find_first_not_of(set));
  text.remove_prefix(taken.size());
  return taken;
}

// Takes one character of `set`, if there is one.
bool TakeOne(std::string_view& text, std::string_view set) {
  if (!StartsWithOneOf(text, set)) return false;
  text.remove_prefix(1);
  return true;
}

// Takes [0-9][0-9_]*.
bool TakeNumber(std::string_view& text) {
  if (!StartsWithOneOf(text, kDigits)) return false;
  Take(text, kDigitsAndLines);
  return true;
}

// Takes [eE][-+]?[0-9]+.
bool TakeExponent(std::string_view& text, bool sign_required) {
  std::string_view rest = text;
  if (!TakeOne(rest, "eE")) return false;
  if (!TakeOne(rest, "+-") && sign_required) return false;
  if (Take(rest, kDigits).empty()) return false;
  text = rest;
  return true;
}

std::string WithoutLines(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  return digits;
}

std::optional<bool> ParseBool(std::string_view text) {
  if (IsOneOf(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On",
                     "ON"})) {
    return true;
  }
  if (IsOneOf(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off",
                     "OFF"})) {
    return false;
  }
  return std::nullopt;
}

Node Signed(uint64_t magnitude, bool minus) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (magnitude > kMax + (minus ? 1 : 0)) {
    const double value = static_cast<double>(magnitude);
    return Node::Float(minus ? -value : value);
  }
  return Node::Int(static_cast<int64_t>(minus ? 0 - magnitude : magnitude));
}

// The value of digits too many for 64 bits.
double Approximate(std::string_view digits, int base) {
  double value = 0;
  for (char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * base + digit;
  }
  return value;
}

std::optional<Node> ParseDigits(std::string_view text, int base, bool minus) {
  const std::string digits = WithoutLines(text);
  const char* const end = digits.data() + digits.size();
  uint64_t magnitude = 0;
  const auto [parsed, error] =
      std::from_chars(digits.data(), end, magnitude, base);
  if (parsed != end || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  if (error == std::errc()) return Signed(magnitude, minus);
  const double value = Approximate(digits, base);
  return Node::Float(minus ? -value : value);
}

// Reads "1:30" or the same with a fraction as one number of sixties. Each part
// but the first has one digit, or two up to 59.
std::optional<double> ParseSixties(std::string_view text) {
  std::string_view first = text;
  if (!TakeNumber(text) || !StartsWithOneOf(text, ":")) return std::nullopt;
  first = first.substr(0, first.size() - text.size());
  double value = Approximate(WithoutLines(first), 10);
  while (TakeOne(text, ":")) {
    const std::string_view part = Take(text, kDigits);
    if (part.empty() || part.size() > 2) return std::nullopt;
    if (part.size() == 2 && part[0] > '5') return std::nullopt;
    value = value * 60 + Approximate(part, 10);
  }
  if (text.empty()) return value;
  if (text[0] != '.') return std::nullopt;
  const std::string fraction = "0" + WithoutLines(text);
  if (fraction.find_first_not_of(kDigits, 2) != fraction.npos) {
    return std::nullopt;
  }
  return value + std::strtod(fraction.c_str(), nullptr);
}

std::optional<Node> ParseInteger(std::string_view text) {
  std::string_view body = text;
  const bool minus = StartsWithOneOf(body, "-");
  TakeOne(body, "+-");
  if (!StartsWithOneOf(body, kDigits)) return std::nullopt;
  if (body.starts_with("0b")) return ParseDigits(body.substr(2), 2, minus);
  if (body.starts_with("0x")) return ParseDigits(body.substr(2), 16, minus);
  if (body[0] == '0') return ParseDigits(body, 8, minus);
  if (auto number = ParseDigits(body, 10, minus)) return number;
  if (body.find('.') != body.npos) return std::nullopt;
  const std::optional<double> sixties = ParseSixties(body);
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!sixties) return std::nullopt;
  if (*sixties > kExact) return Node::Float(minus ? -*sixties : *sixties);
  return Signed(static_cast<uint64_t>(*sixties), minus);
}

// Whether `text`, without its sign, is written as a decimal number that is no
// integer. A start with the dot allows less: no sign before it, and one in its
// exponent.
bool IsDecimal(std::string_view text, bool has_sign) {
  if (TakeNumber(text)) {
    if (!TakeOne(text, ".")) return TakeExponent(text, false) && text.empty();
    Take(text, kDigitsAndLines);
    TakeExponent(text, false);
    return text.empty();
  }
  if (has_sign || !TakeOne(text, ".")) return false;
  if (!TakeNumber(text)) return false;
  TakeExponent(text, true);
  return text.empty();
}

std::optional<double> ParseDecimal(std::string_view text) {
  const std::string digits = WithoutLines(text);
  const char* const end = digits.data() + digits.size();
  double value = 0;
  const auto [parsed, error] = std::from_chars(digits.data(), end, value);
  if (parsed != end || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  // Out of range: strtod gives the zero or the infinity that is nearest.
  return error == std::errc() ? value : std::strtod(digits.c_str(), nullptr);
}

std::optional<double> ParseFloat(std::string_view text) {
  const bool minus = StartsWithOneOf(text, "-");
  const bool has_sign = TakeOne(text, "+-");
  std::optional<double> value;
  if (IsOneOf(text, {".inf", ".Inf", ".INF"})) {
    value = std::numeric_limits<double>::infinity();
  } else if (!has_sign && IsOneOf(text, {".nan", ".NaN", ".NAN"})) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (IsDecimal(text, has_sign)) {
    value = ParseDecimal(text);
  } else if (text.find('.') != text.npos) {
    value = ParseSixties(text);
  }
  if (value && minus) value = -*value;
  return value;
}

}  // namespace

Node ParsePlainScalar(std::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return Node();
  if (const auto value = ParseBool(text)) return Node::Bool(*value);
  if (auto value = ParseInteger(text)) return *std::move(value);
  if (const auto value = ParseFloat(text)) return Node::Float(*value);
  return Node::String(std::string(text));
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  char* const end = buffer + sizeof(buffer);
  const auto scientific =
      std::to_chars(buffer, end, value, std::chars_format::scientific);
  std::string text(buffer, scientific.ptr);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed =
      std::to_chars(buffer, end, value, std::chars_format::fixed);
  text.assign(buffer, fixed.ptr);
  if (text.find('.') == text.npos) text += ".0";
  return text;
}

}  // namespace slipway::recipe
