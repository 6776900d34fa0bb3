#include "trainer/recipe/override.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/schema_table.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using Action = Override::Action;

Action TakeAction(std::string_view& text) {
  constexpr std::pair<std::string_view, Action> kPrefixes[] = {
      {"++", Action::kSet}, {"+", Action::kAdd}, {"~", Action::kRemove}};
  for (const auto& [prefix, action] : kPrefixes) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    return action;
  }
  return Action::kChange;
}

std::string_view Prefix(Action action) {
  switch (action) {
    case Action::kChange:
      return "";
    case Action::kAdd:
      return "+";
    case Action::kSet:
      return "++";
    case Action::kRemove:
      break;
  }
  return "~";
}

bool IsPath(const std::string& path) {
  const std::vector<std::string> steps = absl::StrSplit(path, '.');
  return path.find_first_of(" \t\n@") == path.npos &&
         std::find(steps.begin(), steps.end(), "") == steps.end();
}

// `{a:1}` is a map with the key "a:1" in YAML: never what was meant.
bool HasCrampedKey(const Node& node) {
  for (const Node& item : node.items()) {
    if (HasCrampedKey(item)) return true;
  }
  for (const Node::Entry& entry : node.entries()) {
    const bool cramped = entry.value.is_null() && entry.key.find(':') > 0 &&
                         entry.key.find(':') != entry.key.npos;
    if (cramped || HasCrampedKey(entry.value)) return true;
  }
  return false;
}

Problem Wrong(const Mark& mark, std::string message, std::string hint) {
  return {.kind = "recipe",
          .message = std::move(message),
          .where = {mark},
          .hint = std::move(hint)};
}

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

// The parent of what an override addresses, and the last step to it.
struct Target {
  Node* parent = nullptr;
  std::string parent_path;
  std::string key;
};

class Applier {
 public:
  Applier(const Override& change, int order, Node& root, Problems& problems)
      : change_(change), order_(order), root_(root), problems_(problems) {}

  void Run() {
    const std::optional<Target> target = FindTarget();
    if (!target) return;
    Node* const existing = Child(*target->parent, target->key);
    switch (change_.action) {
      case Action::kRemove:
        return Remove(*target, existing);
      case Action::kAdd:
        if (existing != nullptr) return FailExists(*existing);
        return Set(*target, existing);
      case Action::kChange:
        if (existing == nullptr && !IsNoSlip()) return FailAbsent(*target);
        return Set(*target, existing);
      case Action::kSet:
        return Set(*target, existing);
    }
  }

 private:
  static Node* Child(Node& parent, const std::string& key) {
    if (!parent.is_list()) return parent.Find(key);
    size_t index = 0;
    const char* const end = key.data() + key.size();
    const auto [parsed, error] = std::from_chars(key.data(), end, index);
    const bool whole = error == std::errc() && parsed == end;
    if (!whole || index >= parent.items().size()) return nullptr;
    return &parent.mutable_items()[index];
  }

  bool MayCreate() const {
    return change_.action == Action::kAdd || change_.action == Action::kSet ||
           (change_.action == Action::kChange && IsNoSlip());
  }

  // Whether the key is one that the schema has, or is checked by the plan.
  bool IsNoSlip() const {
    return FindKey(change_.path) != nullptr ||
           change_.path.starts_with("plugins.");
  }

  std::optional<Target> FindTarget() {
    std::vector<std::string> steps = absl::StrSplit(change_.path, '.');
    Target target{&root_, "", std::move(steps.back())};
    steps.pop_back();
    for (const std::string& step : steps) {
      Node* child = Child(*target.parent, step);
      const bool absent = child == nullptr || child->is_null();
      if (absent && MayCreate() && target.parent->is_map()) {
        child = &target.parent->Set(step, EmptyMap(), change_.mark);
      } else if (child == nullptr) {
        FailAbsent({target.parent, target.parent_path, step});
        return std::nullopt;
      }
      absl::StrAppend(&target.parent_path,
                      target.parent_path.empty() ? "" : ".", step);
      target.parent = child;
    }
    if (target.parent->is_map() || target.parent->is_list()) return target;
    Fail(absl::StrCat(Quoted(target.parent_path), " is ",
                      target.parent->ToDisplay(), " and has no key ",
                      Quoted(target.key)),
         MayCreate() || change_.action == Action::kChange
             ? absl::StrCat("~", target.parent_path, " and then +",
                            change_.path, "=", change_.text, " makes it a map")
             : "");
    return std::nullopt;
  }

  Node EmptyMap() const {
    Node map = Node::Map(change_.mark);
    map.set_order(order_);
    return map;
  }

  void Set(const Target& target, Node* existing) {
    Node value = *change_.value;
    SetOrder(order_, value);
    if (existing != nullptr && existing->is_map() && value.is_map()) {
      MergeAt(std::move(value), *existing, absl::StrSplit(change_.path, '.'),
              root_);
    } else if (existing != nullptr && target.parent->is_list()) {
      *existing = std::move(value);
    } else if (target.parent->is_map()) {
      target.parent->Set(target.key, std::move(value), change_.mark);
    } else if (target.key == absl::StrCat(target.parent->items().size())) {
      target.parent->mutable_items().push_back(std::move(value));
    } else {
      FailAbsent(target);
    }
  }

  void Remove(const Target& target, Node* existing) {
    if (existing == nullptr) return FailAbsent(target);
    if (change_.value && !(*change_.value == *existing)) {
      return Fail(
          absl::StrCat(Quoted(change_.path), " is ", existing->ToDisplay(),
                       ", not ", change_.value->ToDisplay()),
          absl::StrCat("~", change_.path, " removes it as it is"));
    }
    if (target.parent->is_map()) {
      target.parent->Erase(target.key);
    } else {
      auto& items = target.parent->mutable_items();
      items.erase(items.begin() + (existing - items.data()));
    }
  }

  void FailExists(const Node& existing) {
    Fail(absl::StrCat(Quoted(change_.path),
                      " is there already: ", existing.ToDisplay()),
         absl::StrCat("without the + it is changed: ", change_.path, "=",
                      change_.text));
    problems_.back().where.push_back(existing.mark());
  }

  void FailAbsent(const Target& target) {
    const std::vector<std::string> known = target.parent->keys();
    std::string hint = DidYouMean(target.key, known);
    if (hint.empty() && change_.action == Action::kChange) {
      hint = DidYouMean(target.key, KeysIn(target.parent_path));
    }
    if (target.parent->is_list() && change_.action != Action::kChange) {
      hint =
          absl::StrCat("the next position is ", target.parent->items().size());
    } else if (hint.empty() && change_.action == Action::kChange) {
      hint =
          absl::StrCat("to add it, write +", change_.path, "=", change_.text);
    } else if (hint.empty() && !known.empty()) {
      hint = "known are " + absl::StrJoin(known, ", ");
    }
    const std::string place =
        target.parent_path.empty() ? "the recipe" : Quoted(target.parent_path);
    Fail(absl::StrCat("no key ", Quoted(target.key), " in ", place), hint);
  }

  void Fail(std::string message, std::string hint) {
    problems_.push_back(
        Wrong(change_.mark, std::move(message), std::move(hint)));
    problems_.back().detail =
        absl::StrCat("the override is ", std::string(Prefix(change_.action)),
                     change_.path, change_.value ? "=" : "", change_.text);
  }

  const Override& change_;
  const int order_;
  Node& root_;
  Problems& problems_;
};

}  // namespace

std::optional<Override> ParseOverride(std::string_view text, int number,
                                      Problems& problems) {
  const std::string whole(text);
  Override change;
  change.mark = {"command line", 0, number};
  change.action = TakeAction(text);
  const size_t equals = text.find('=');
  change.path = std::string(text.substr(0, equals));
  if (!IsPath(change.path)) {
    problems.push_back(Wrong(change.mark,
                             "no key to override in " + Quoted(whole),
                             "an override is key=value, +key=value or ~key"));
    return std::nullopt;
  }
  if (equals == text.npos) {
    if (change.action == Action::kRemove) return change;
    problems.push_back(Wrong(change.mark, "no value in " + Quoted(whole),
                             absl::StrCat("write ", whole, "=VALUE")));
    return std::nullopt;
  }
  change.text = std::string(text.substr(equals + 1));
  change.value = ParseYamlValue(change.text, change.mark, problems);
  if (!change.value) return std::nullopt;
  if (HasCrampedKey(*change.value)) {
    problems.push_back(Wrong(change.mark,
                             "a colon without a space in " + Quoted(whole),
                             "write {key: value}"));
    return std::nullopt;
  }
  return change;
}

void ApplyOverride(const Override& change, int order, Node& root,
                   Problems& problems) {
  Applier(change, order, root, problems).Run();
}

}  // namespace slipway::recipe
