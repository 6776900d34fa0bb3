#include "trainer/recipe/interpolate.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/scalar.h"

namespace slipway::recipe {
namespace {

using Path = std::vector<std::string>;

constexpr std::string_view kOpening = "${";
constexpr std::string_view kOpen = "\?\?\?";
constexpr int kMaxLevels = 400;
constexpr size_t kMaxInterpolations = 100'000;
constexpr size_t kMaxNodes = 400'000;
constexpr size_t kMaxText = 4 << 20;

bool IsInterpolation(const Node& node) {
  return node.is_string() &&
         node.AsString().find(kOpening) != std::string::npos;
}

bool StartsWith(const Path& path, const Path& prefix) {
  return path.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), path.begin());
}

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return std::string(
      text.substr(first, text.find_last_not_of(' ') + 1 - first));
}

const Node* Child(const Node& node, const std::string& step) {
  if (!node.is_list()) return node.Find(step);
  size_t index = 0;
  const char* const end = step.data() + step.size();
  const auto [parsed, error] = std::from_chars(step.data(), end, index);
  const bool whole = error == std::errc() && parsed == end;
  return whole && index < node.items().size() ? &node.items()[index] : nullptr;
}

// Splits "a.b[0][c]" into its steps; nothing if a step is empty.
std::optional<Path> ParsePath(std::string_view text) {
  Path path;
  while (!text.empty()) {
    const bool bracket = text[0] == '[';
    if (bracket || (!path.empty() && text[0] == '.')) text.remove_prefix(1);
    const size_t end = text.find_first_of(bracket ? "]" : ".[");
    path.push_back(std::string(text.substr(0, end)));
    if (path.back().empty() || (bracket && end == text.npos)) {
      return std::nullopt;
    }
    text.remove_prefix(std::min(text.size(), path.back().size() + bracket));
  }
  if (path.empty()) return std::nullopt;
  return path;
}

// An unquoted argument of a resolver: true, null, a decimal number, inf, nan,
// or text. This is not YAML: on, 0x10 and 017 are text.
Node ParseArgument(const std::string& text) {
  if (absl::EqualsIgnoreCase(text, "true")) return Node::Bool(true);
  if (absl::EqualsIgnoreCase(text, "false")) return Node::Bool(false);
  if (absl::EqualsIgnoreCase(text, "null")) return Node();
  for (const char* word : {"inf", "+inf", "-inf", "nan"}) {
    if (!absl::EqualsIgnoreCase(text, word)) continue;
    return Node::Float(std::strtod(word, nullptr));
  }
  Node value = ParsePlainScalar(text);
  const size_t sign = text.find_first_not_of("+-") == 1 ? 1 : 0;
  const bool octal =
      value.is_int() && text.size() > sign + 1 && text[sign] == '0';
  const bool decimal =
      text.find_first_not_of("+-0123456789_.eE") == text.npos && !octal;
  return value.is_number() && decimal ? value : Node::String(text);
}

// Resolves the interpolations of one tree. A failure is reported where it
// arises and runs up as nullopt.
class Interpolator {
 public:
  Interpolator(const Node& root, const ResolverContext& context,
               Problems& problems, std::set<std::string>* variables)
      : root_(root),
        context_(context),
        problems_(problems),
        variables_(variables) {}

  // A copy of `raw`, which is at `path`, without interpolations.
  std::optional<Node> Resolve(const Node& raw, Path& path);

 private:
  // A value whose interpolations are being resolved.
  struct Active {
    Path path;
    const Node* node;
  };
  // What a piece of text stands for.
  struct Piece {
    Node value;
    bool is_literal = true;  // no interpolation in it
  };

  std::optional<Node> ResolveText(const Node& raw, const Path& path);
  bool Enter();

  // These read text_ from position_ on.
  std::optional<Piece> ReadPiece(std::string_view stop);
  std::string ReadBackslashes(bool in_argument);
  std::optional<Node> ReadInterpolation();
  std::optional<std::vector<Node>> ReadArguments(char close);
  std::optional<Node> ReadArgument(char close);
  std::optional<Node> ReadQuoted();
  std::optional<Node> ReadMap();
  bool AtEnd() const { return position_ >= text_.size(); }
  bool At(std::string_view what) const {
    return text_.substr(std::min(position_, text_.size())).starts_with(what);
  }
  void SkipSpaces() {
    while (At(" ")) ++position_;
  }

  std::optional<Node> Refer(const std::string& text);
  std::optional<Path> Absolute(const std::string& text);
  std::optional<Node> LookUp(const Path& path);
  bool IsCycle(const Path& target);
  std::optional<Node> FailLookUp(const Node& parent, const Path& path,
                                 size_t step);
  std::nullopt_t Fail(std::string detail, std::string hint = {});

  const Node& root_;
  const ResolverContext& context_;
  Problems& problems_;
  std::set<std::string>* const variables_;
  std::vector<Active> active_;
  std::set<Path> failed_;
  std::string_view text_;
  size_t position_ = 0;
  int level_ = 0;
  size_t interpolations_ = 0;
  size_t nodes_ = 0;
  size_t bytes_ = 0;
  bool exhausted_ = false;
};

std::optional<Node> Interpolator::Resolve(const Node& raw, Path& path) {
  if (IsInterpolation(raw)) return ResolveText(raw, path);
  ++nodes_;
  if (!raw.is_list() && !raw.is_map()) return raw;
  Node copy =
      raw.is_list() ? Node::List({}, raw.mark()) : Node::Map(raw.mark());
  copy.set_order(raw.order());
  bool complete = true;
  const auto resolve_child = [&](const Node& child, std::string step) {
    path.push_back(std::move(step));
    std::optional<Node> value = Resolve(child, path);
    path.pop_back();
    complete = complete && value.has_value();
    return value ? *std::move(value) : Node();
  };
  for (size_t i = 0; i < raw.items().size(); ++i) {
    copy.mutable_items().push_back(
        resolve_child(raw.items()[i], absl::StrCat(i)));
  }
  for (const Node::Entry& entry : raw.entries()) {
    copy.mutable_entries().push_back(
        {entry.key, entry.key_mark, resolve_child(entry.value, entry.key)});
  }
  if (!complete) return std::nullopt;
  return copy;
}

std::optional<Node> Interpolator::ResolveText(const Node& raw,
                                              const Path& path) {
  if (failed_.count(path) > 0) return std::nullopt;
  active_.push_back({path, &raw});
  const auto outer = std::pair(std::exchange(text_, raw.AsString()),
                               std::exchange(position_, 0));
  const int outer_level = level_;
  std::optional<Piece> piece;
  if (Enter()) piece = ReadPiece("");
  level_ = outer_level;
  std::tie(text_, position_) = outer;
  active_.pop_back();
  if (!piece) {
    failed_.insert(path);
    return std::nullopt;
  }
  piece->value.set_mark(raw.mark());
  SetOrder(raw.order(), piece->value);
  return std::move(piece->value);
}

// Goes one level deeper, which ResolveText undoes where something fails; false,
// with a problem, beyond what is sensible.
bool Interpolator::Enter() {
  if (level_ >= kMaxLevels) {
    Fail("interpolations refer to each other over too many levels");
    return false;
  }
  if (++interpolations_ > kMaxInterpolations || bytes_ > kMaxText ||
      nodes_ > kMaxNodes) {
    if (!std::exchange(exhausted_, true)) Fail("it grows beyond all bounds");
    return false;
  }
  ++level_;
  return true;
}

std::optional<Interpolator::Piece> Interpolator::ReadPiece(
    std::string_view stop) {
  std::string text;
  std::optional<Node> single;
  size_t interpolations = 0;
  while (!AtEnd() && stop.find(text_[position_]) == stop.npos) {
    if (At("\\")) {
      text += ReadBackslashes(!stop.empty());
    } else if (At(kOpening)) {
      std::optional<Node> value = ReadInterpolation();
      if (!value) return std::nullopt;
      if (++interpolations == 1 && text.empty()) {
        single = std::move(value);
      } else {
        text += PythonText(*value);
      }
    } else {
      text += text_[position_++];
    }
  }
  if (single && interpolations == 1 && text.empty()) {
    return Piece{*std::move(single), false};
  }
  if (single) text = PythonText(*single) + text;
  bytes_ += text.size();
  return Piece{Node::String(std::move(text)), interpolations == 0};
}

// Backslashes count before `${`, where two are one and an odd one makes it
// text, and in arguments before what would end them.
std::string Interpolator::ReadBackslashes(bool in_argument) {
  constexpr std::string_view kEscaped = "()[]{}:=, '\"";
  const size_t start = position_;
  while (At("\\")) ++position_;
  const size_t count = position_ - start;
  if (in_argument && !AtEnd() && !At(kOpening) && count % 2 == 1 &&
      kEscaped.find(text_[position_]) != kEscaped.npos) {
    return std::string(count / 2, '\\') + text_[position_++];
  }
  if (!At(kOpening)) return std::string(count, '\\');
  std::string text(count / 2, '\\');
  if (count % 2 == 0) return text;
  position_ += kOpening.size();
  return text.append(kOpening);
}

std::optional<Node> Interpolator::ReadInterpolation() {
  if (!Enter()) return std::nullopt;
  position_ += kOpening.size();
  const std::optional<Piece> head = ReadPiece(":}");
  if (!head) return std::nullopt;
  const std::string name = Trimmed(PythonText(head->value));
  std::optional<Node> value;
  if (AtEnd()) return Fail("\"${\" is never closed");
  if (text_[position_++] == '}') {
    value = Refer(name);
  } else {
    const auto arguments = ReadArguments('}');
    if (!arguments) return std::nullopt;
    absl::StatusOr<Node> result = CallResolver(name, *arguments, context_);
    if (!result.ok()) {
      return Fail(
          absl::StrCat(name, ": ", std::string(result.status().message())));
    }
    value = *std::move(result);
  }
  --level_;
  return value;
}

// Reads arguments up to and with `close`.
std::optional<std::vector<Node>> Interpolator::ReadArguments(char close) {
  std::vector<Node> arguments;
  SkipSpaces();
  if (!AtEnd() && text_[position_] == close) {
    ++position_;
    return arguments;
  }
  while (true) {
    std::optional<Node> argument = ReadArgument(close);
    if (!argument) return std::nullopt;
    arguments.push_back(*std::move(argument));
    SkipSpaces();
    if (AtEnd())
      return Fail(absl::StrCat("\"", std::string(1, close), "\" is missing"));
    const char next = text_[position_++];
    if (next == close) return arguments;
    if (next != ',') return Fail("a comma is missing between arguments");
  }
}

std::optional<Node> Interpolator::ReadArgument(char close) {
  SkipSpaces();
  if (At("'") || At("\"")) return ReadQuoted();
  if (At("[")) {
    if (!Enter()) return std::nullopt;
    ++position_;
    auto items = ReadArguments(']');
    --level_;
    if (!items) return std::nullopt;
    return Node::List(*std::move(items));
  }
  if (At("{")) return ReadMap();
  const std::optional<Piece> piece =
      ReadPiece(close == ']' ? std::string_view(",]") : ",}");
  if (!piece) return std::nullopt;
  if (!piece->value.is_string()) return piece->value;
  const std::string text = Trimmed(piece->value.AsString());
  return piece->is_literal ? ParseArgument(text) : Node::String(text);
}

std::optional<Node> Interpolator::ReadQuoted() {
  const std::string quote(1, text_[position_++]);
  const std::optional<Piece> piece = ReadPiece(quote);
  if (!piece) return std::nullopt;
  if (AtEnd()) return Fail("a quote is never closed");
  ++position_;
  return Node::String(PythonText(piece->value));
}

std::optional<Node> Interpolator::ReadMap() {
  if (!Enter()) return std::nullopt;
  ++position_;
  Node map = Node::Map();
  SkipSpaces();
  bool more = !At("}");
  position_ += !more;
  while (more) {
    const std::optional<Piece> key = ReadPiece(":,}");
    if (!key || !At(":")) return Fail("a map's item is no \"key: value\"");
    ++position_;
    std::optional<Node> value = ReadArgument('}');
    if (!value) return std::nullopt;
    map.Set(Trimmed(PythonText(key->value)), *std::move(value));
    SkipSpaces();
    if (AtEnd()) return Fail("\"}\" is missing");
    more = text_[position_++] == ',';
    SkipSpaces();
  }
  --level_;
  return map;
}

std::optional<Node> Interpolator::Refer(const std::string& text) {
  const std::optional<Path> path = Absolute(text);
  if (!path) return std::nullopt;
  if (variables_ != nullptr) variables_->insert(absl::StrJoin(*path, "."));
  return LookUp(*path);
}

// The path from the top that `text` means for the value at hand.
std::optional<Path> Interpolator::Absolute(const std::string& text) {
  const size_t dots = std::min(text.find_first_not_of('.'), text.size());
  std::optional<Path> path = ParsePath(std::string_view(text).substr(dots));
  if (!path) return Fail(absl::StrCat("\"", text, "\" is no path"));
  if (dots == 0) return path;
  Path base = active_.back().path;
  if (dots > base.size()) {
    return Fail(absl::StrCat("\"", text, "\" leads above the recipe"));
  }
  base.resize(base.size() - dots);
  base.insert(base.end(), path->begin(), path->end());
  return base;
}

std::optional<Node> Interpolator::LookUp(const Path& path) {
  const Node* node = &root_;
  std::optional<Node> resolved;  // holds *node once an interpolation is passed
  Path at;
  for (size_t i = 0; i < path.size(); ++i) {
    const Node* const child = Child(*node, path[i]);
    if (child == nullptr) return FailLookUp(*node, path, i);
    at.push_back(path[i]);
    node = child;
    const bool last = i + 1 == path.size();
    if (resolved || (!last && !IsInterpolation(*node))) continue;
    if (IsCycle(at)) return std::nullopt;
    std::optional<Node> value = Resolve(*node, at);
    if (!value) return std::nullopt;
    resolved = std::move(value);
    node = &*resolved;
  }
  if (node->is_string() && node->AsString() == kOpen) {
    return Fail(absl::StrCat("\"", absl::StrJoin(path, "."),
                             "\" is still open (", std::string(kOpen), ")"),
                absl::StrCat("set it: ", absl::StrJoin(path, "."), "=..."));
  }
  return Node(*node);
}

// Whether `target` is, or contains, a value that waits for it.
bool Interpolator::IsCycle(const Path& target) {
  const auto first = std::find_if(active_.begin(), active_.end(),
                                  [&target](const Active& active) {
                                    return StartsWith(active.path, target);
                                  });
  if (first == active_.end()) return false;
  std::vector<std::string> names;
  std::vector<Mark> where;
  for (auto active = first; active != active_.end(); ++active) {
    names.push_back(absl::StrJoin(active->path, "."));
    where.push_back(active->node->mark());
  }
  names.push_back(absl::StrJoin(target, "."));
  problems_.push_back({.kind = "recipe",
                       .message = "values refer to each other in a cycle",
                       .detail = absl::StrJoin(names, " -> "),
                       .where = std::move(where),
                       .hint = "give one of them a value of its own"});
  return true;
}

std::optional<Node> Interpolator::FailLookUp(const Node& parent,
                                             const Path& path, size_t step) {
  const std::string place =
      step == 0
          ? "the recipe"
          : absl::StrCat("\"",
                         absl::StrJoin(path.begin(), path.begin() + step, "."),
                         "\"");
  if (!parent.is_map() && !parent.is_list()) {
    return Fail(absl::StrCat(place, " is ", parent.ToDisplay(),
                             " and has no key \"", path[step], "\""));
  }
  return Fail(absl::StrCat("there is no key \"", path[step], "\" in ", place),
              DidYouMean(path[step], parent.keys()));
}

std::nullopt_t Interpolator::Fail(std::string detail, std::string hint) {
  const Node* node = active_.empty() ? &root_ : active_.back().node;
  problems_.push_back({.kind = "recipe",
                       .message = "cannot resolve " + node->ToDisplay(),
                       .detail = std::move(detail),
                       .where = {node->mark()},
                       .hint = std::move(hint)});
  return std::nullopt;
}

}  // namespace

std::optional<Node> Interpolate(const Node& root,
                                const ResolverContext& context,
                                Problems& problems,
                                std::set<std::string>* variables) {
  Path path;
  return Interpolator(root, context, problems, variables).Resolve(root, path);
}

}  // namespace slipway::recipe
