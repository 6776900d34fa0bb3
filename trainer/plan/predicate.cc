#include "trainer/plan/predicate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "trainer/plan/tokens.h"
#include "trainer/recipe/scalar.h"

namespace slipway::plan {
namespace {

using recipe::Node;

// Deeper nesting is no condition that anybody wrote by hand.
constexpr int kDeepest = 50;

bool IsTrue(const Node& value) {
  switch (value.kind()) {
    case Node::Kind::kNull:
      return false;
    case Node::Kind::kBool:
      return value.AsBool();
    case Node::Kind::kInt:
    case Node::Kind::kFloat:
      return value.AsDouble() != 0;
    case Node::Kind::kString:
      return !value.AsString().empty();
    case Node::Kind::kList:
      return !value.items().empty();
    case Node::Kind::kMap:
      break;
  }
  return !value.entries().empty();
}

bool AreEqual(const Node& a, const Node& b) {
  if (a.is_number() && b.is_number()) return a.AsDouble() == b.AsDouble();
  return a == b;
}

bool IsKeyword(std::string_view word) {
  return word == "and" || word == "or" || word == "not" || word == "in";
}

}  // namespace

// Recursive descent. Each method returns false after the first mistake, which
// `error_` then tells.
class PredicateParser {
 public:
  explicit PredicateParser(std::string_view text) : tokens_(text) {
    predicate_.text_ = text;
  }

  absl::StatusOr<Predicate> Parse() {
    if (!Either() || !Ended()) return absl::InvalidArgumentError(error_);
    return std::move(predicate_);
  }

 private:
  using Step = Predicate::Step;
  using Kind = Step::Kind;

  bool Fail(std::string_view expected);
  bool Push(Step step) {
    predicate_.steps_.push_back(std::move(step));
    return true;
  }
  bool Ended();
  bool Either();
  bool Both();
  bool Negation();
  bool Group();
  bool Comparison();
  std::optional<Kind> Operator();
  bool List(Step& step);
  bool Bound(Step& step, std::string_view symbol);
  bool Value(Step& step);

  Tokens tokens_;
  Predicate predicate_;
  int depth_ = 0;
  std::string error_;
};

bool PredicateParser::Fail(std::string_view expected) {
  const Token& token = tokens_.current();
  const std::string found =
      token.kind == Token::Kind::kEnd
          ? "the end"
          : absl::StrCat("\"", std::string(token.text), "\"");
  error_ = absl::StrCat("expected ", std::string(expected), " at column ",
                        token.column, ", found ", found);
  return false;
}

bool PredicateParser::Ended() {
  if (tokens_.current().kind == Token::Kind::kEnd) return true;
  return Fail("\"and\", \"or\" or the end");
}

bool PredicateParser::Either() {
  if (!Both()) return false;
  while (tokens_.Take("or")) {
    if (!Both()) return false;
    Push({Kind::kOr});
  }
  return true;
}

bool PredicateParser::Both() {
  if (!Negation()) return false;
  while (tokens_.Take("and")) {
    if (!Negation()) return false;
    Push({Kind::kAnd});
  }
  return true;
}

bool PredicateParser::Negation() {
  bool negated = false;
  while (tokens_.Take("not")) negated = !negated;
  if (!(tokens_.current().Is("(") ? Group() : Comparison())) return false;
  return !negated || Push({Kind::kNot});
}

bool PredicateParser::Group() {
  if (++depth_ > kDeepest) return Fail("fewer parentheses");
  tokens_.Next();
  if (!Either()) return false;
  --depth_;
  return tokens_.Take(")") || Fail("\")\"");
}

bool PredicateParser::Comparison() {
  const Token name = tokens_.current();
  if (name.kind != Token::Kind::kWord || IsKeyword(name.text)) {
    return Fail("a name");
  }
  tokens_.Next();
  const std::string_view symbol = tokens_.current().text;
  const std::optional<Kind> kind = Operator();
  if (!kind) return false;
  Step step = {*kind, std::string(name.text)};
  switch (*kind) {
    case Kind::kTrue:
      break;
    case Kind::kIn:
    case Kind::kNotIn:
      if (!List(step)) return false;
      break;
    case Kind::kEqual:
    case Kind::kUnequal:
      if (!Value(step)) return false;
      break;
    default:
      if (!Bound(step, symbol)) return false;
  }
  return Push(std::move(step));
}

std::optional<Predicate::Step::Kind> PredicateParser::Operator() {
  static constexpr std::pair<std::string_view, Kind> kOperators[] = {
      {"==", Kind::kEqual},  {"!=", Kind::kUnequal},
      {"<", Kind::kLess},    {"<=", Kind::kLessOrEqual},
      {">", Kind::kGreater}, {">=", Kind::kGreaterOrEqual},
      {"in", Kind::kIn},
  };
  for (const auto& [symbol, kind] : kOperators) {
    if (tokens_.Take(symbol)) return kind;
  }
  if (!tokens_.Take("not")) return Kind::kTrue;
  if (tokens_.Take("in")) return Kind::kNotIn;
  Fail("\"in\"");
  return std::nullopt;
}

bool PredicateParser::List(Step& step) {
  if (!tokens_.Take("[")) return Fail("\"[\"");
  do {
    if (!Value(step)) return false;
  } while (tokens_.Take(","));
  return tokens_.Take("]") || Fail("\",\" or \"]\"");
}

bool PredicateParser::Bound(Step& step, std::string_view symbol) {
  const std::string value(tokens_.current().text);
  if (!Value(step)) return false;
  // 2.10 is the number 2.1, but another version: keep what was written.
  const absl::StatusOr<VersionRange> range =
      VersionRange::Parse(std::string(symbol) + value);
  if (range.ok()) step.range = *range;
  return true;
}

bool PredicateParser::Value(Step& step) {
  const Token& token = tokens_.current();
  const bool quoted = token.kind == Token::Kind::kQuoted;
  const bool word = token.kind == Token::Kind::kWord && !IsKeyword(token.text);
  if (!quoted && !word) return Fail("a value");
  step.values.push_back(quoted ? Node::String(std::string(token.text))
                               : recipe::ParsePlainScalar(token.text));
  tokens_.Next();
  return true;
}

absl::StatusOr<Predicate> Predicate::Parse(std::string_view text) {
  return PredicateParser(text).Parse();
}

bool Predicate::Step::Orders(const Node& value) const {
  if (value.is_string() && range) {
    const absl::StatusOr<Version> version = Version::Parse(value.AsString());
    return version.ok() && range->Contains(*version);
  }
  if (!value.is_number() || !values[0].is_number()) return false;
  const double left = value.AsDouble(), right = values[0].AsDouble();
  switch (kind) {
    case Kind::kLess:
      return left < right;
    case Kind::kLessOrEqual:
      return left <= right;
    case Kind::kGreater:
      return left > right;
    default:
      return left >= right;
  }
}

bool Predicate::Step::Compare(const Node& value) const {
  const auto is_value = [&](const Node& v) { return AreEqual(value, v); };
  const bool among = std::any_of(values.begin(), values.end(), is_value);
  switch (kind) {
    case Kind::kTrue:
      return IsTrue(value);
    case Kind::kEqual:
    case Kind::kIn:
      return among;
    case Kind::kUnequal:
    case Kind::kNotIn:
      return !among;
    default:
      return Orders(value);
  }
}

bool Predicate::Holds(Lookup lookup) const {
  std::vector<bool> found;
  for (const Step& step : steps_) {
    if (!step.name.empty()) {
      found.push_back(step.Compare(lookup(step.name)));
    } else if (step.kind == Step::Kind::kNot) {
      found.back() = !found.back();
    } else {
      const bool right = found.back();
      found.pop_back();
      const bool left = found.back();
      found.back() =
          step.kind == Step::Kind::kAnd ? left && right : left || right;
    }
  }
  return found.back();
}

std::vector<std::string> Predicate::Names() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) {
    if (!step.name.empty()) names.push_back(step.name);
  }
  return names;
}

}  // namespace slipway::plan
