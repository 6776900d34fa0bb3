#include "trainer/recipe/yaml_builder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/scalar.h"
#include "yaml-cpp/exceptions.h"

namespace slipway::recipe {
namespace {

constexpr size_t kMaxLevels = 100;
constexpr size_t kMaxNodes = 200'000;
constexpr std::string_view kYamlTag = "tag:yaml.org,2002:";
constexpr std::string_view kMergeKey = "<<";

std::string KeyText(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kBool:
      return node.AsBool() ? "true" : "false";
    case Node::Kind::kInt:
      return absl::StrCat(node.AsInt());
    case Node::Kind::kFloat:
      return FloatText(node.AsDouble());
    default:
      return node.AsString();
  }
}

// The value of `text` under one of YAML's own tags, if it fits.
std::optional<Node> WithTag(std::string_view tag, const std::string& text) {
  if (tag == "str") return Node::String(text);
  Node plain = ParsePlainScalar(text);
  if (tag == "float" && plain.is_number()) {
    return Node::Float(plain.AsDouble());
  }
  const bool fits = (tag == "null" && plain.is_null()) ||
                    (tag == "bool" && plain.is_bool()) ||
                    (tag == "int" && plain.is_int());
  if (!fits) return std::nullopt;
  return plain;
}

}  // namespace

YamlBuilder::YamlBuilder(const YamlText& text, std::string kind,
                         Problems& problems)
    : text_(text), kind_(std::move(kind)), problems_(problems) {}

Node YamlBuilder::TakeRoot() { return std::move(root_); }

void YamlBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (++documents_ != 2) return;
  Fail("a second document begins", {text_.PlaceOf(mark)},
       "put each document into a file of its own");
}

void YamlBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  Count(1, 1, mark);
  Mark place = text_.PlaceOf(mark);
  if (text_.HasNullAt(mark)) {
    CheckTab(mark);
  } else if (!open_.empty()) {
    CheckOmission(open_.back(), place);
  }
  Add({.node = Node(std::move(place))}, anchor);
}

// What yaml-cpp takes for an omitted value is often a slip. Moves `place`,
// which is that of whatever follows, to the key whose value is omitted.
void YamlBuilder::CheckOmission(const Frame& frame, Mark& place) {
  if (frame.value.node.is_list()) {
    if (frame.is_flow) Fail("an item is missing before this", {place});
  } else if (frame.key) {
    place = frame.key->mark;
    if (frame.is_flow || text_.HasColonAfter(frame.key->position)) return;
    Fail(absl::StrCat("\"", frame.key->name, "\" has no colon after it"),
         {place}, "write \"key: value\", with a space");
  }
}

void YamlBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  CheckTab(mark);
  const Mark place = text_.PlaceOf(mark);
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    Count(1, 1, mark);
    Fail("an alias refers to the value that contains it", {place},
         "write the value out where the alias stands");
    return Add({.node = Node(place)}, 0);
  }
  Value copy = found->second;
  copy.node.set_mark(place);
  Count(copy.count, copy.levels, mark);
  Add(std::move(copy), 0);
}

void YamlBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t anchor, const std::string& value) {
  CheckTab(mark);
  Count(1, 1, mark);
  if (tag == "?" && value.find('\t') != value.npos) {
    Fail("an unquoted text has a tab in it", {text_.PlaceOf(mark)},
         "quote it, or use spaces");
  }
  if (tag == "!" && !text_.IsClosed(mark)) {
    Fail("a quote is never closed", {text_.PlaceOf(mark)});
  }
  Value scalar{.node = Typed(text_.PlaceOf(mark), tag, value)};
  scalar.plain = tag == "?";
  scalar.position = mark;
  Add(std::move(scalar), anchor);
}

void YamlBuilder::OnSequenceStart(const YAML::Mark& mark,
                                  const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value style) {
  CheckCollectionTag(text_.PlaceOf(mark), tag, "seq");
  Start(Node::List({}, text_.PlaceOf(mark)), anchor, mark, style);
}

void YamlBuilder::OnSequenceEnd() { End(); }

void YamlBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag,
                             YAML::anchor_t anchor,
                             YAML::EmitterStyle::value style) {
  CheckCollectionTag(text_.PlaceOf(mark), tag, "map");
  Start(Node::Map(text_.PlaceOf(mark)), anchor, mark, style);
}

void YamlBuilder::OnMapEnd() {
  if (!open_.back().merges.empty()) ApplyMerges(open_.back());
  End();
}

void YamlBuilder::Start(Node node, YAML::anchor_t anchor,
                        const YAML::Mark& mark,
                        YAML::EmitterStyle::value style) {
  CheckTab(mark);
  Count(1, 1, mark);
  Frame frame;
  frame.is_flow = style == YAML::EmitterStyle::Flow;
  frame.value.node = std::move(node);
  frame.anchor = anchor;
  open_.push_back(std::move(frame));
}

void YamlBuilder::End() {
  Frame frame = std::move(open_.back());
  open_.pop_back();
  Add(std::move(frame.value), frame.anchor);
}

void YamlBuilder::Add(Value value, YAML::anchor_t anchor) {
  if (anchor != 0) {
    // Anchors within anchors are copied once for each: they count.
    Count(value.count, 0, YAML::Mark::null_mark());
    anchors_[anchor] = value;
  }
  if (open_.empty()) {
    if (documents_ == 1) root_ = std::move(value.node);
    return;
  }
  Frame& frame = open_.back();
  frame.value.count += value.count;
  frame.value.levels = std::max(frame.value.levels, value.levels + 1);
  if (frame.value.node.is_list()) {
    frame.value.node.mutable_items().push_back(std::move(value.node));
  } else {
    AddToMap(frame, std::move(value));
  }
}

void YamlBuilder::AddToMap(Frame& frame, Value value) {
  if (!frame.key) {
    frame.key = ToKey(value);
    return;
  }
  const Key key = *std::exchange(frame.key, std::nullopt);
  if (key.is_wrong) return;
  if (!frame.is_flow) CheckIndent(key, value);
  if (key.is_merge) return AddMerge(frame, std::move(value.node));
  const auto [own, inserted] = frame.own.emplace(key.name, key.mark);
  if (!inserted) {
    return Fail(absl::StrCat("duplicate key \"", key.name, "\""),
                {key.mark, own->second}, "remove one of them");
  }
  frame.value.node.mutable_entries().push_back(
      {key.name, key.mark, std::move(value.node)});
}

// yaml-cpp takes a word in the next key's column for the value before it.
void YamlBuilder::CheckIndent(const Key& key, const Value& value) {
  if (value.position.line <= key.position.line) return;
  if (value.position.column > key.position.column) return;
  if (!text_.IsFirstOnLine(value.position)) return;
  Fail(absl::StrCat(value.node.ToDisplay(), " has no colon after it"),
       {value.node.mark()},
       absl::StrCat("indent it if it is the value of \"", key.name, "\""));
}

YamlBuilder::Key YamlBuilder::ToKey(const Value& value) {
  const Node& node = value.node;
  Key key;
  key.mark = node.mark();
  key.position = value.position;
  if (node.is_null() || node.is_list() || node.is_map()) {
    key.is_wrong = true;
    Fail(absl::StrCat("a key is ", node.is_null() ? "null" : "a ",
                      node.is_null() ? "" : std::string(node.kind_name())),
         {key.mark}, "a key is a word, a number or a quoted text");
    return key;
  }
  key.name = KeyText(node);
  key.is_merge = value.plain && key.name == kMergeKey;
  return key;
}

void YamlBuilder::AddMerge(Frame& frame, Node node) {
  std::vector<Node> maps;
  if (node.is_list()) {
    maps = std::move(node.mutable_items());
  } else {
    maps.push_back(std::move(node));
  }
  for (Node& map : maps) {
    if (map.is_map()) {
      frame.merges.push_back(std::move(map));
    } else {
      Fail(absl::StrCat("\"<<\" merges maps, not ", map.ToDisplay()),
           {map.mark()});
    }
  }
}

// A map's own keys win over merged ones, and of those the first.
void YamlBuilder::ApplyMerges(Frame& frame) {
  std::vector<Node::Entry> merged;
  std::unordered_set<std::string> taken;
  for (Node& map : frame.merges) {
    for (Node::Entry& entry : map.mutable_entries()) {
      const bool own = frame.own.count(entry.key) > 0;
      if (!own && taken.insert(entry.key).second) {
        merged.push_back(std::move(entry));
      }
    }
  }
  std::vector<Node::Entry>& own = frame.value.node.mutable_entries();
  std::move(own.begin(), own.end(), std::back_inserter(merged));
  own = std::move(merged);
}

Node YamlBuilder::Typed(const Mark& place, const std::string& tag,
                        const std::string& text) {
  std::optional<Node> node;
  if (tag == "?" || tag.empty()) {
    node = ParsePlainScalar(text);
  } else if (tag == "!") {
    node = Node::String(text);
  } else if (tag.starts_with(kYamlTag)) {
    node = WithTag(std::string_view(tag).substr(kYamlTag.size()), text);
  }
  if (!node) {
    Fail(absl::StrCat("\"", text, "\" cannot be read with the tag \"", tag,
                      "\""),
         {place}, "known tags are !!str, !!int, !!float, !!bool and !!null");
    node = Node();
  }
  node->set_mark(place);
  return *std::move(node);
}

void YamlBuilder::CheckCollectionTag(const Mark& place, const std::string& tag,
                                     const char* expected) {
  if (tag.size() < 2 || tag == absl::StrCat(std::string(kYamlTag), expected)) {
    return;
  }
  Fail(absl::StrCat("unknown tag \"", tag, "\""), {place},
       "lists and maps need no tag");
}

void YamlBuilder::CheckTab(const YAML::Mark& mark) {
  if (mark.line == line_with_tab_ || !text_.HasTabBefore(mark)) return;
  line_with_tab_ = mark.line;
  Fail("a tab stands before this", {text_.PlaceOf(mark)},
       "indent and separate with spaces");
}

void YamlBuilder::Count(size_t nodes, size_t levels, const YAML::Mark& mark) {
  count_ += nodes;
  if (count_ > kMaxNodes) {
    throw YAML::ParserException(
        mark, absl::StrCat("it has more than ", kMaxNodes, " values"));
  }
  if (open_.size() + levels > kMaxLevels) {
    throw YAML::ParserException(
        mark, absl::StrCat("it is nested deeper than ", kMaxLevels, " levels"));
  }
}

void YamlBuilder::Fail(std::string message, std::vector<Mark> where,
                       std::string hint) {
  problems_.push_back({.kind = kind_,
                       .message = std::move(message),
                       .where = std::move(where),
                       .hint = std::move(hint)});
}

}  // namespace slipway::recipe
