#include "trainer/checkpoint/node_pickle.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace slipway {
namespace {

using recipe::Node;

absl::StatusOr<Node> ToList(const PickleValue& value) {
  std::vector<Node> items;
  for (const PickleValue& item : value.items()) {
    absl::StatusOr<Node> node = ToNode(item);
    if (!node.ok()) return node.status();
    items.push_back(*std::move(node));
  }
  return Node::List(std::move(items));
}

absl::StatusOr<Node> ToMap(const PickleValue& value) {
  Node map = Node::Map();
  for (const auto& [key, item] : value.entries()) {
    if (key.kind() != PickleValue::Kind::kString) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a text as key, found a ",
                       std::string(KindName(key.kind()))));
    }
    absl::StatusOr<Node> node = ToNode(item);
    if (!node.ok()) return node.status();
    map.Set(key.text(), *std::move(node));
  }
  return map;
}

}  // namespace

PickleValue ToPickle(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      return PickleValue();
    case Node::Kind::kBool:
      return PickleValue::Bool(node.AsBool());
    case Node::Kind::kInt:
      return PickleValue::Int(node.AsInt());
    case Node::Kind::kFloat:
      return PickleValue::Float(node.AsDouble());
    case Node::Kind::kString:
      return PickleValue::String(node.AsString());
    case Node::Kind::kList: {
      std::vector<PickleValue> items;
      for (const Node& item : node.items()) items.push_back(ToPickle(item));
      return PickleValue::List(std::move(items));
    }
    case Node::Kind::kMap: {
      PickleValue dict = PickleValue::Dict();
      for (const Node::Entry& entry : node.entries()) {
        dict.Set(entry.key, ToPickle(entry.value));
      }
      return dict;
    }
  }
  return PickleValue();
}

absl::StatusOr<Node> ToNode(const PickleValue& value) {
  using Kind = PickleValue::Kind;
  switch (value.kind()) {
    case Kind::kNone:
      return Node();
    case Kind::kBool:
      return Node::Bool(value.bool_value());
    case Kind::kInt:
      return Node::Int(value.int_value());
    case Kind::kFloat:
      return Node::Float(value.number());
    case Kind::kString:
      return Node::String(value.text());
    case Kind::kList:
    case Kind::kTuple:
      return ToList(value);
    case Kind::kDict:
      return ToMap(value);
    case Kind::kBytes:
    case Kind::kTensor:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected numbers and texts, found a ",
                   std::string(KindName(value.kind()))));
}

}  // namespace slipway
