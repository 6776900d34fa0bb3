#include "trainer/recipe/params.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/recipe/scalar.h"

namespace slipway::recipe {
namespace {

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

std::string NumberText(int64_t value) { return absl::StrCat(value); }
std::string NumberText(double value) { return FloatText(value); }

// "an integer", "a number from 0 to 1", "a number of at least 0".
template <typename T>
std::string Expected(std::string_view noun, T min, T max) {
  using Limits = std::numeric_limits<T>;
  const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::min();
  const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  std::string text(noun);
  if (min > lowest && max < highest) {
    absl::StrAppend(&text, " from ", NumberText(min), " to ", NumberText(max));
  } else if (min > lowest) {
    absl::StrAppend(&text, " of at least ", NumberText(min));
  } else if (max < highest) {
    absl::StrAppend(&text, " of at most ", NumberText(max));
  }
  return text;
}

std::string Found(const Node& value) {
  return absl::StrCat("found ", std::string(value.kind_name()), " ",
                      value.ToDisplay());
}

// What to do about a number that is almost right.
std::string IntegerHint(const Node& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.kind() != Node::Kind::kFloat) return {};
  const double number = value.AsDouble();
  if (!(std::abs(number) < kExact) || number != std::trunc(number)) return {};
  return absl::StrCat("write ", static_cast<int64_t>(number));
}

std::string ExpectedList(std::string_view noun, size_t length) {
  const std::string article = noun[0] == 'i' ? "an " : "a ";
  const std::string one = article + std::string(noun);
  if (length == 0)
    return absl::StrCat("a list of ", std::string(noun), "s or ", one);
  return absl::StrCat("a list of ", length, " ", std::string(noun), "s or ",
                      one);
}

template <typename T>
std::optional<T> Number(const Node& value);

template <>
std::optional<double> Number(const Node& value) {
  if (!value.is_number()) return std::nullopt;
  return value.AsDouble();
}

template <>
std::optional<int64_t> Number(const Node& value) {
  if (!value.is_int()) return std::nullopt;
  return value.AsInt();
}

// The numbers of a list of `length` (0: any), or one number that often.
template <typename T>
std::optional<std::vector<T>> Numbers(const Node& value, size_t length) {
  if (const std::optional<T> one = Number<T>(value)) {
    return std::vector<T>(std::max<size_t>(length, 1), *one);
  }
  const size_t count = value.items().size();
  if (!value.is_list() || (length > 0 && count != length)) return std::nullopt;
  std::vector<T> numbers;
  for (const Node& item : value.items()) {
    const std::optional<T> number = Number<T>(item);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

template <typename T>
bool InRange(T value, T min, T max) {
  return value >= min && value <= max;  // false for a nan
}

}  // namespace

Params::Params(const Node& node, std::string owner, Problems& problems,
               std::string noun)
    : node_(node),
      owner_(std::move(owner)),
      noun_(std::move(noun)),
      problems_(problems) {
  if (node.is_map() || node.is_null()) return;
  problems_.push_back(
      {.kind = "value",
       .message = absl::StrCat("the ", noun_, "s of ", owner_, " are no map"),
       .detail = "expected a map, " + Found(node),
       .where = {node.mark()}});
}

bool Params::Has(std::string_view key) const {
  const Node* value = node_.Find(key);
  return value != nullptr && !value->is_null();
}

int64_t Params::Int(std::string_view key, const IntRule& rule) {
  const Node* value = Take(key, !rule.fallback);
  if (value == nullptr) return rule.fallback.value_or(0);
  if (value->is_int() && InRange(value->AsInt(), rule.min, rule.max)) {
    return value->AsInt();
  }
  Wrong(key, *value, Expected("an integer", rule.min, rule.max),
        IntegerHint(*value));
  return rule.fallback.value_or(0);
}

double Params::Double(std::string_view key, const DoubleRule& rule) {
  const Node* value = Take(key, !rule.fallback);
  if (value == nullptr) return rule.fallback.value_or(0);
  if (value->is_number() && InRange(value->AsDouble(), rule.min, rule.max)) {
    return value->AsDouble();
  }
  Wrong(key, *value, Expected("a number", rule.min, rule.max));
  return rule.fallback.value_or(0);
}

bool Params::Bool(std::string_view key, std::optional<bool> fallback) {
  const Node* value = Take(key, !fallback);
  if (value == nullptr) return fallback.value_or(false);
  if (value->is_bool()) return value->AsBool();
  Wrong(key, *value, "true or false");
  return fallback.value_or(false);
}

std::string Params::Text(std::string_view key,
                         std::optional<std::string> fallback,
                         const std::vector<std::string>& choices) {
  const Node* value = Take(key, !fallback);
  if (value == nullptr) return fallback.value_or("");
  const bool text = value->is_string();
  if (text && (choices.empty() || std::count(choices.begin(), choices.end(),
                                             value->AsString()) > 0)) {
    return value->AsString();
  }
  const std::string expected =
      choices.empty() ? "text"
                      : absl::StrCat("one of ", absl::StrJoin(choices, ", "));
  Wrong(key, *value, expected,
        text ? DidYouMean(value->AsString(), choices) : "");
  return fallback.value_or("");
}

std::vector<double> Params::Doubles(
    std::string_view key, size_t length,
    std::optional<std::vector<double>> fallback) {
  const Node* value = Take(key, !fallback);
  std::optional<std::vector<double>> numbers = fallback;
  if (value != nullptr) {
    numbers = Numbers<double>(*value, length);
    if (!numbers) Wrong(key, *value, ExpectedList("number", length));
  }
  return numbers ? *numbers : fallback.value_or(std::vector<double>(length));
}

std::vector<int64_t> Params::Ints(
    std::string_view key, size_t length,
    std::optional<std::vector<int64_t>> fallback) {
  const Node* value = Take(key, !fallback);
  std::optional<std::vector<int64_t>> numbers = fallback;
  if (value != nullptr) {
    numbers = Numbers<int64_t>(*value, length);
    if (!numbers) Wrong(key, *value, ExpectedList("integer", length));
  }
  return numbers ? *numbers : fallback.value_or(std::vector<int64_t>(length));
}

const Node* Params::Raw(std::string_view key) { return Take(key, false); }

void Params::Ignore(std::string_view key) { known_.emplace_back(key); }

void Params::Fail(std::string_view key, std::string message, std::string hint) {
  const Node* value = node_.Find(key);
  problems_.push_back({.kind = "value",
                       .message = std::move(message),
                       .where = {value ? value->mark() : node_.mark()},
                       .hint = std::move(hint)});
}

void Params::Finish() {
  for (const Node::Entry& entry : node_.entries()) {
    if (std::count(known_.begin(), known_.end(), entry.key) > 0) continue;
    std::string hint = DidYouMean(entry.key, known_);
    if (hint.empty()) hint = "known are " + absl::StrJoin(known_, ", ");
    if (known_.empty()) hint = owner_ + " has no " + noun_ + "s";
    problems_.push_back(
        {.kind = "recipe",
         .message = absl::StrCat("unknown ", noun_, " ", Quoted(entry.key),
                                 " of ", owner_),
         .where = {entry.key_mark},
         .hint = std::move(hint)});
  }
}

const Node* Params::Take(std::string_view key, bool required) {
  known_.emplace_back(key);
  if (Has(key)) return node_.Find(key);
  if (required && (node_.is_map() || node_.is_null())) {
    problems_.push_back(
        {.kind = "value",
         .message = absl::StrCat(owner_, " needs a value for ", Quoted(key)),
         .where = {node_.mark()}});
  }
  return nullptr;
}

void Params::Wrong(std::string_view key, const Node& value,
                   std::string_view expected, std::string hint) {
  Fail(key,
       absl::StrCat(Quoted(key), " of ", owner_, " is ", value.ToDisplay()),
       std::move(hint));
  problems_.back().detail =
      absl::StrCat("expected ", std::string(expected), ", ", Found(value));
}

}  // namespace slipway::recipe
