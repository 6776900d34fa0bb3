#include "trainer/recipe/defaults.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

constexpr std::string_view kSelf = "_self_";
constexpr std::string_view kOptional = "optional ";
constexpr std::string_view kOverride = "override ";
// Files that name others twice double with every level.
constexpr size_t kMaxFiles = 500;

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

// One item of a defaults list.
struct Default {
  bool is_self = false;
  bool is_optional = false;
  bool is_override = false;
  std::string group;                 // empty: a file of the list's own group
  std::vector<std::string> choices;  // none: nothing is chosen
  Mark mark;
};

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The names in a choice: one, several, or none.
std::optional<std::vector<std::string>> ParseChoices(const Node& value) {
  if (value.is_null()) return std::vector<std::string>();
  if (value.is_string()) return std::vector<std::string>{value.AsString()};
  if (!value.is_list()) return std::nullopt;
  std::vector<std::string> names;
  for (const Node& item : value.items()) {
    if (!item.is_string()) return std::nullopt;
    names.push_back(item.AsString());
  }
  return names;
}

std::optional<Default> ParseDefault(const Node& node) {
  Default result;
  result.mark = node.mark();
  if (node.is_string()) {
    result.is_self = node.AsString() == kSelf;
    result.choices = {node.AsString()};
    return result;
  }
  if (node.entries().size() != 1) return std::nullopt;
  const auto& [key, key_mark, value] = node.entries()[0];
  auto choices = ParseChoices(value);
  if (!choices) return std::nullopt;
  std::string_view group = key;
  result.is_optional = TakePrefix(group, kOptional);
  result.is_override = TakePrefix(group, kOverride);
  result.group = std::string(group);
  result.choices = *std::move(choices);
  result.mark = value.mark();
  return result;
}

bool IsUnsupported(const Default& item) {
  const auto has = [&item](std::string_view part) {
    return item.group.find(part) != item.group.npos ||
           std::any_of(item.choices.begin(), item.choices.end(),
                       [part](const std::string& choice) {
                         return choice.find(part) != choice.npos;
                       });
  };
  return has("${") || has("@");
}

// "a/b" below the group `base`; "/a/b" from the top.
std::string Below(const std::string& base, std::string_view name) {
  if (name.starts_with('/')) return std::string(name.substr(1));
  return base.empty() ? std::string(name)
                      : absl::StrCat(base, "/", std::string(name));
}

// Where a file's own defaults are searched, and where its keys are laid.
struct Place {
  std::string group;
  std::vector<std::string> package;
};

// The package that is reached from `package` by a group's path. A path from the
// top is no exception, as in Hydra.
std::vector<std::string> PackageBelow(std::vector<std::string> package,
                                      std::string_view group) {
  while (!group.empty()) {
    const std::string_view step = group.substr(0, group.find('/'));
    if (!step.empty()) package.emplace_back(step);
    group.remove_prefix(std::min(group.size(), step.size() + 1));
  }
  return package;
}

std::string GroupOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == name.npos ? "" : name.substr(0, slash));
}

bool SameFile(const std::string& a, const std::string& b) {
  using std::filesystem::path;
  return path(a).lexically_normal() == path(b).lexically_normal();
}

// A choice of a group, by which a later choice replaces it.
struct Selection {
  std::string group;
  size_t number;
};

class Loader {
 public:
  Loader(const SearchPath& path, Problems& problems)
      : path_(path), problems_(problems) {}

  std::vector<Layer> Load(const std::string& file,
                          const std::vector<Override>& choices) {
    for (const Override& choice : choices) AddChoice(choice);
    LoadFile(file, std::filesystem::path(file).stem().string(), {}, {file});
    for (const Default& item : added_) Expand(item, {});
    for (const auto& [group, choice] : choices_) {
      if (!choice.used) FailUnused(choice.item);
    }
    return TakeLayers();
  }

 private:
  // What a group's choice is to be instead.
  struct Choice {
    Default item;
    bool used = false;
  };
  struct SelectedLayer {
    Layer layer;
    std::vector<Selection> selections;
  };
  struct OpenFile {
    std::string path;
    std::string name;
    Mark mark;  // of the item that names it
  };

  void AddChoice(const Override& choice) {
    Default item;
    item.group = choice.path;
    item.mark = choice.mark;
    if (choice.value && choice.action != Override::Action::kRemove) {
      item.choices = ParseChoices(*choice.value).value_or(item.choices);
    }
    if (choice.action == Override::Action::kAdd ||
        choice.action == Override::Action::kSet) {
      added_.push_back(std::move(item));
    } else {
      choices_[choice.path] = {std::move(item)};
    }
  }

  // Loads a file that `name` is short for, which `mark` asks for.
  void LoadFile(const std::string& file, const std::string& name,
                const Place& place, const Mark& mark) {
    if (++files_ > kMaxFiles) return FailTooMany(mark);
    open_.push_back({file, name, mark});
    if (std::optional<Node> content = ReadYamlFile(file, problems_)) {
      if (content->is_null()) *content = Node::Map({file, 1, 1});
      if (content->is_map()) {
        LoadContent(*std::move(content), place);
      } else {
        problems_.push_back(
            {.kind = "recipe",
             .message = absl::StrCat(Quoted(file), " is no map"),
             .detail = absl::StrCat("found ", content->ToDisplay()),
             .where = {content->mark()}});
      }
    }
    open_.pop_back();
  }

  void LoadContent(Node content, const Place& place) {
    std::vector<Default> items = TakeDefaults(content);
    Layer layer{std::move(content), place.package};
    for (const Default& item : items) {
      if (item.is_override) AddOverride(item, place.group);
    }
    bool self = false;
    for (const Default& item : items) {
      if (item.is_override) continue;
      if (item.is_self && !std::exchange(self, true)) {
        layers_.push_back({std::move(layer), selections_});
      } else if (!item.is_self) {
        Expand(item, place);
      }
    }
    if (!self) layers_.push_back({std::move(layer), selections_});
  }

  std::vector<Default> TakeDefaults(Node& content) {
    const Node* const defaults = content.Find("defaults");
    std::vector<Default> items;
    if (defaults == nullptr) return items;
    if (!defaults->is_list() && !defaults->is_null()) {
      FailShape(*defaults);
    }
    for (const Node& node : defaults->items()) {
      std::optional<Default> item = ParseDefault(node);
      if (!item) {
        FailShape(node);
      } else if (IsUnsupported(*item)) {
        FailUnsupported(node);
      } else {
        items.push_back(*std::move(item));
      }
    }
    content.Erase("defaults");
    return items;
  }

  // The outermost override of a group is the one that counts, and it is met
  // first.
  void AddOverride(const Default& item, const std::string& base) {
    choices_.try_emplace(Below(base, item.group), Choice{item});
  }

  void Expand(Default item, const Place& base) {
    if (item.group.empty()) {
      for (const std::string& name : item.choices) {
        const auto package = PackageBelow(base.package, GroupOf(name));
        LoadChoice(item, name, {base.group, package});
      }
      return;
    }
    const Place place = {Below(base.group, item.group),
                         PackageBelow(base.package, item.group)};
    const auto choice = choices_.find(place.group);
    if (choice != choices_.end()) {
      choice->second.used = true;
      item.choices = choice->second.item.choices;
      item.mark = choice->second.item.mark;
    }
    selections_.push_back({place.group, ++last_selection_[place.group]});
    for (const std::string& name : item.choices) LoadChoice(item, name, place);
    selections_.pop_back();
  }

  void LoadChoice(const Default& item, const std::string& choice,
                  const Place& place) {
    const std::string name = Below(place.group, choice);
    const std::optional<std::string> file = path_.Find(name);
    if (file && IsOpen(*file)) {
      FailCycle(*file, item.mark);
    } else if (file) {
      LoadFile(*file, name, {GroupOf(name), place.package}, item.mark);
    } else if (!item.is_optional) {
      const std::string what = place.group.empty() ? "recipe" : place.group;
      problems_.push_back(path_.NotFound(name, what, {item.mark}));
    }
  }

  bool IsOpen(const std::string& path) const {
    return std::any_of(
        open_.begin(), open_.end(),
        [&path](const OpenFile& file) { return SameFile(file.path, path); });
  }

  void FailCycle(const std::string& path, const Mark& mark) {
    const auto first = std::find_if(
        open_.begin(), open_.end(),
        [&path](const OpenFile& file) { return SameFile(file.path, path); });
    std::vector<std::string> names;
    std::vector<Mark> where;
    for (auto file = first; file != open_.end(); ++file) {
      names.push_back(file->name);
      if (file != first) where.push_back(file->mark);
    }
    names.push_back(first->name);
    where.push_back(mark);
    problems_.push_back({.kind = "recipe",
                         .message = "recipes name each other in their defaults",
                         .detail = absl::StrJoin(names, " -> "),
                         .where = std::move(where),
                         .hint = "remove one of these lines"});
  }

  void FailTooMany(const Mark& mark) {
    if (files_ != kMaxFiles + 1) return;
    problems_.push_back(
        {.kind = "recipe",
         .message = absl::StrCat("a recipe of more than ", kMaxFiles, " files"),
         .where = {mark},
         .hint = "name each file once"});
  }

  void FailShape(const Node& node) {
    problems_.push_back({.kind = "recipe",
                         .message = absl::StrCat("no item of a defaults list: ",
                                                 node.ToDisplay()),
                         .where = {node.mark()},
                         .hint = "items are NAME, GROUP: NAME and _self_"});
  }

  void FailUnsupported(const Node& node) {
    problems_.push_back(
        {.kind = "recipe",
         .message = absl::StrCat("cannot follow ", node.ToDisplay(),
                                 " in a defaults list"),
         .where = {node.mark()},
         .hint = "write the name out; @package and ${...} are not supported"});
  }

  void FailUnused(const Default& item) {
    std::vector<std::string> groups;
    for (const auto& [group, count] : last_selection_) groups.push_back(group);
    std::string hint = DidYouMean(item.group, groups);
    if (hint.empty() && item.mark.line > 0) {
      hint = "to add it, leave out \"override\"";
    } else if (hint.empty()) {
      hint = absl::StrCat("to add it, write +", item.group, "=",
                          absl::StrJoin(item.choices, ","));
    }
    problems_.push_back(
        {.kind = "recipe",
         .message = absl::StrCat("the recipe chooses nothing for the group ",
                                 Quoted(item.group)),
         .detail = groups.empty()
                       ? ""
                       : "it chooses for " + absl::StrJoin(groups, ", "),
         .where = {item.mark},
         .hint = std::move(hint)});
  }

  // Without what belongs to choices that later ones replace.
  std::vector<Layer> TakeLayers() {
    std::vector<Layer> layers;
    for (SelectedLayer& entry : layers_) {
      const bool replaced = std::any_of(
          entry.selections.begin(), entry.selections.end(),
          [this](const Selection& selection) {
            return selection.number != last_selection_[selection.group];
          });
      if (!replaced) layers.push_back(std::move(entry.layer));
    }
    return layers;
  }

  const SearchPath& path_;
  Problems& problems_;
  std::map<std::string, Choice> choices_;
  std::vector<Default> added_;
  std::vector<OpenFile> open_;
  size_t files_ = 0;
  std::vector<Selection> selections_;
  std::map<std::string, size_t> last_selection_;
  std::vector<SelectedLayer> layers_;
};

}  // namespace

std::vector<Layer> LoadLayers(const std::string& file, const SearchPath& path,
                              const std::vector<Override>& choices,
                              Problems& problems) {
  return Loader(path, problems).Load(file, choices);
}

}  // namespace slipway::recipe
