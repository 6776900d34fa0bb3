#include "trainer/recipe/node.h"

#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::recipe {
namespace {

const std::vector<Node>& NoItems() {
  static const auto* const kNone = new std::vector<Node>();
  return *kNone;
}

const std::vector<Node::Entry>& NoEntries() {
  static const auto* const kNone = new std::vector<Node::Entry>();
  return *kNone;
}

bool SameEntries(const Node& a, const Node& b) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(),
                     [&b](const Node::Entry& entry) {
                       const Node* other = b.Find(entry.key);
                       return other != nullptr && *other == entry.value;
                     });
}

}  // namespace

Node::Node() = default;
Node::Node(Mark mark) : mark_(std::move(mark)) {}
Node::~Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;

Node Node::Bool(bool value, Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kBool;
  node.bool_ = value;
  return node;
}

Node Node::Int(int64_t value, Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kInt;
  node.int_ = value;
  return node;
}

Node Node::Float(double value, Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kFloat;
  node.float_ = value;
  return node;
}

Node Node::String(std::string value, Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kString;
  node.string_ = std::move(value);
  return node;
}

Node Node::List(std::vector<Node> items, Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kList;
  node.items_ = std::move(items);
  return node;
}

Node Node::Map(Mark mark) {
  Node node(std::move(mark));
  node.kind_ = Kind::kMap;
  return node;
}

Node::Kind Node::kind() const { return kind_; }

std::string_view Node::kind_name() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "boolean";
    case Kind::kInt:
      return "integer";
    case Kind::kFloat:
      return "number";
    case Kind::kString:
      return "text";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      break;
  }
  return "map";
}

bool Node::is_number() const {
  return kind_ == Kind::kInt || kind_ == Kind::kFloat;
}

const Mark& Node::mark() const { return mark_; }
void Node::set_mark(Mark mark) { mark_ = std::move(mark); }

int Node::order() const { return order_; }
void Node::set_order(int order) { order_ = order; }

bool Node::AsBool() const {
  CHECK(is_bool()) << "a " << kind_name() << " is no boolean";
  return bool_;
}

int64_t Node::AsInt() const {
  CHECK(is_int()) << "a " << kind_name() << " is no integer";
  return int_;
}

double Node::AsDouble() const {
  CHECK(is_number()) << "a " << kind_name() << " is no number";
  return is_int() ? static_cast<double>(int_) : float_;
}

const std::string& Node::AsString() const {
  CHECK(is_string()) << "a " << kind_name() << " is no text";
  return string_;
}

const std::vector<Node>& Node::items() const {
  return is_list() ? items_ : NoItems();
}

std::vector<Node>& Node::mutable_items() { return items_; }

const std::vector<Node::Entry>& Node::entries() const {
  return is_map() ? entries_ : NoEntries();
}

std::vector<Node::Entry>& Node::mutable_entries() { return entries_; }

std::vector<std::string> Node::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries()) keys.push_back(entry.key);
  return keys;
}

const Node* Node::Find(std::string_view key) const {
  for (const Entry& entry : entries()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Node* Node::Find(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).Find(key));
}

Node& Node::Set(std::string_view key, Node value, Mark key_mark) {
  CHECK(is_map()) << "a " << kind_name() << " has no keys";
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.key_mark = std::move(key_mark);
    entry.value = std::move(value);
    return entry.value;
  }
  entries_.push_back({std::string(key), std::move(key_mark), std::move(value)});
  return entries_.back().value;
}

bool Node::Erase(std::string_view key) {
  return std::erase_if(entries_, [key](const Entry& entry) {
           return entry.key == key;
         }) > 0;
}

const Node* Node::FindPath(std::string_view path) const {
  if (path.empty()) return this;
  const size_t dot = path.find('.');
  const Node* child = FindStep(path.substr(0, dot));
  if (child == nullptr || dot == path.npos) return child;
  const std::string_view rest = path.substr(dot + 1);
  return rest.empty() ? nullptr : child->FindPath(rest);
}

const Node* Node::FindStep(std::string_view step) const {
  if (!is_list()) return Find(step);
  size_t index = 0;
  const char* const end = step.data() + step.size();
  const auto [parsed, error] = std::from_chars(step.data(), end, index);
  const bool whole = error == std::errc() && parsed == end;
  return whole && index < items_.size() ? &items_[index] : nullptr;
}

bool Node::operator==(const Node& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return bool_ == other.bool_;
    case Kind::kInt:
      return int_ == other.int_;
    case Kind::kFloat:
      return float_ == other.float_ ||
             (float_ != float_ && other.float_ != other.float_);
    case Kind::kString:
      return string_ == other.string_;
    case Kind::kList:
      return items_ == other.items_;
    case Kind::kMap:
      break;
  }
  return SameEntries(*this, other);
}

}  // namespace slipway::recipe
