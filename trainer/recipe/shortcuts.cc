#include "trainer/recipe/shortcuts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::recipe {
namespace {

struct Shortcut {
  std::string_view name;
  std::vector<std::vector<std::string_view>> targets;
};

const std::vector<Shortcut>& Table() {
  static const auto* const kTable = new std::vector<Shortcut>{
      {"lr", {{"training_hyperparams", "initial_lr"}}},
      {"batch_size",
       {{"dataset_params", "train_dataloader_params", "batch_size"}}},
      {"val_batch_size",
       {{"dataset_params", "val_dataloader_params", "batch_size"}}},
      {"epochs", {{"training_hyperparams", "max_epochs"}}},
      {"ema", {{"training_hyperparams", "ema"}}},
      {"resume", {{"training_hyperparams", "resume"}}},
      {"num_workers",
       {{"dataset_params", "train_dataloader_params", "num_workers"},
        {"dataset_params", "val_dataloader_params", "num_workers"}}},
  };
  return *kTable;
}

// The map at all but the last step of `path`, created where it is missing; null
// if something else stands there, which the schema reports.
Node* Parent(Node& root, const std::vector<std::string_view>& path,
             const Mark& mark) {
  Node* node = &root;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (!node->is_map()) return nullptr;
    Node* child = node->Find(path[i]);
    if (child == nullptr || child->is_null()) {
      child = &node->Set(path[i], Node::Map(mark), mark);
    }
    node = child;
  }
  return node->is_map() ? node : nullptr;
}

const Node* Find(const Node& root, const std::vector<std::string_view>& path) {
  const Node* node = &root;
  for (std::string_view step : path) {
    if (node != nullptr) node = node->Find(step);
  }
  return node;
}

}  // namespace

const std::vector<std::string>& Shortcuts() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::string>();
    for (const Shortcut& shortcut : Table()) names->emplace_back(shortcut.name);
    return names;
  }();
  return *kNames;
}

bool IsShortcut(std::string_view key) {
  return std::count(Shortcuts().begin(), Shortcuts().end(), key) > 0;
}

void ApplyShortcuts(Node& recipe) {
  for (const Shortcut& shortcut : Table()) {
    const Node* const found = recipe.Find(shortcut.name);
    if (found == nullptr || found->is_null()) continue;
    const Node value = *found;
    for (const auto& path : shortcut.targets) {
      Node* const parent = Parent(recipe, path, value.mark());
      if (parent != nullptr) parent->Set(path.back(), value, value.mark());
    }
  }
}

void FillShortcuts(Node& recipe) {
  for (const Shortcut& shortcut : Table()) {
    Node* const value = recipe.Find(shortcut.name);
    if (value == nullptr || !value->is_null()) continue;
    const Node* const target = Find(recipe, shortcut.targets[0]);
    if (target != nullptr) *value = Node(*target);
  }
}

}  // namespace slipway::recipe
