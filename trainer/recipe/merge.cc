#include "trainer/recipe/merge.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::recipe {
namespace {

using Path = std::vector<std::string>;

bool IsOpen(const Node& node) {
  constexpr std::string_view kOpen = "\?\?\?";
  return node.is_string() && node.AsString() == kOpen;
}

// The path within `${path}`, if that is all of the text; else empty.
std::string_view ReferredPath(std::string_view text) {
  if (!text.starts_with("${") || !text.ends_with("}")) return {};
  text = text.substr(2, text.size() - 3);
  if (text.find_first_of("${}:[] ") != text.npos) return {};
  return text;
}

class Merger {
 public:
  Merger(const Node& root, Path path) : root_(root), path_(std::move(path)) {}

  void Merge(Node from, Node& into) {
    into.set_mark(from.mark());
    into.set_order(from.order());
    for (Node::Entry& entry : from.mutable_entries()) {
      MergeEntry(std::move(entry), into);
    }
  }

 private:
  void MergeEntry(Node::Entry from, Node& into) {
    std::vector<Node::Entry>& entries = into.mutable_entries();
    const auto entry = std::find_if(
        entries.begin(), entries.end(),
        [&from](const Node::Entry& other) { return other.key == from.key; });
    if (entry == entries.end()) {
      entries.push_back(std::move(from));
      return;
    }
    if (IsOpen(from.value)) return;
    entry->key_mark = std::move(from.key_mark);
    path_.push_back(std::move(from.key));
    MergeValue(std::move(from.value), entry->value);
    path_.pop_back();
  }

  void MergeValue(Node from, Node& into) {
    if (from.is_map() && into.is_string()) {
      const Node* const referred = Referred(into, path_);
      // By way of a copy: what is referred to may contain `into`.
      if (referred != nullptr) into = Node(*referred);
    }
    if (from.is_map() && into.is_map()) {
      Merge(std::move(from), into);
    } else {
      into = std::move(from);
    }
  }

  // The map that the interpolation `node`, at `path`, refers to; null if none.
  const Node* Referred(const Node& node, Path path) const {
    constexpr int kMaxLevels = 20;
    const Node* target = &node;
    for (int i = 0; i < kMaxLevels && target && target->is_string(); ++i) {
      std::string_view text = ReferredPath(target->AsString());
      const size_t dots = std::min(text.find_first_not_of('.'), text.size());
      text.remove_prefix(dots);
      if (text.empty() || dots > path.size()) return nullptr;
      path.resize(dots == 0 ? 0 : path.size() - dots);
      target = Walk(text, path);
    }
    return target && target->is_map() ? target : nullptr;
  }

  // Follows `text` from the node at `path`, to which it is added.
  const Node* Walk(std::string_view text, Path& path) const {
    while (!text.empty()) {
      path.emplace_back(text.substr(0, text.find('.')));
      text.remove_prefix(std::min(text.size(), path.back().size() + 1));
    }
    const Node* node = &root_;
    for (const std::string& step : path) {
      node = node == nullptr ? nullptr : node->FindPath(step);
    }
    return node;
  }

  const Node& root_;
  Path path_;
};

}  // namespace

void Merge(Node from, Node& into) {
  Merger(into, {}).Merge(std::move(from), into);
}

void MergeAt(Node from, Node& at, const std::vector<std::string>& path,
             const Node& root) {
  Merger(root, path).Merge(std::move(from), at);
}

void SetOrder(int order, Node& node) {
  node.set_order(order);
  for (Node& item : node.mutable_items()) SetOrder(order, item);
  for (Node::Entry& entry : node.mutable_entries()) {
    SetOrder(order, entry.value);
  }
}

}  // namespace slipway::recipe
