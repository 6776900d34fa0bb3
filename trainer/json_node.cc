#include "trainer/json_node.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slipway {
namespace {

using Json = nlohmann::ordered_json;
using recipe::Node;

bool FitsInt64(const Json& json) {
  if (!json.is_number_integer()) return false;
  if (!json.is_number_unsigned()) return true;
  return json.get<uint64_t>() <=
         static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

Node ListFrom(const Json& json, const Mark& mark) {
  std::vector<Node> items;
  for (const Json& item : json) items.push_back(NodeFromJson(item, mark));
  return Node::List(std::move(items), mark);
}

Node MapFrom(const Json& json, const Mark& mark) {
  Node map = Node::Map(mark);
  for (const auto& item : json.items()) {
    map.Set(item.key(), NodeFromJson(item.value(), mark), mark);
  }
  return map;
}

}  // namespace

Node NodeFromJson(const Json& json, const Mark& mark) {
  if (json.is_boolean()) return Node::Bool(json.get<bool>(), mark);
  if (FitsInt64(json)) return Node::Int(json.get<int64_t>(), mark);
  if (json.is_number()) return Node::Float(json.get<double>(), mark);
  if (json.is_string()) return Node::String(json.get<std::string>(), mark);
  if (json.is_array()) return ListFrom(json, mark);
  if (json.is_object()) return MapFrom(json, mark);
  return Node(mark);
}

}  // namespace slipway
