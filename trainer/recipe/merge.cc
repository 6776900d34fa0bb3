#include "trainer/recipe/merge.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::recipe {
namespace {

bool IsOpen(const Node& node) {
  constexpr std::string_view kOpen = "\?\?\?";
  return node.is_string() && node.AsString() == kOpen;
}

void MergeEntry(Node::Entry from, Node& into) {
  std::vector<Node::Entry>& entries = into.mutable_entries();
  const auto entry = std::find_if(
      entries.begin(), entries.end(),
      [&from](const auto& other) { return other.key == from.key; });
  if (entry == entries.end()) {
    entries.push_back(std::move(from));
    return;
  }
  if (IsOpen(from.value)) return;
  entry->key_mark = std::move(from.key_mark);
  if (from.value.is_map() && entry->value.is_map()) {
    Merge(std::move(from.value), entry->value);
  } else {
    entry->value = std::move(from.value);
  }
}

}  // namespace

void Merge(Node from, Node& into) {
  into.set_mark(from.mark());
  into.set_order(from.order());
  for (Node::Entry& entry : from.mutable_entries()) {
    MergeEntry(std::move(entry), into);
  }
}

void SetOrder(int order, Node& node) {
  node.set_order(order);
  for (Node& item : node.mutable_items()) SetOrder(order, item);
  for (Node::Entry& entry : node.mutable_entries()) {
    SetOrder(order, entry.value);
  }
}

}  // namespace slipway::recipe
