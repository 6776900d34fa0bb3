#include "trainer/recipe/schema.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "trainer/recipe/scalar.h"
#include "trainer/recipe/schema_table.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

constexpr std::string_view kOpen = "\?\?\?";
constexpr std::string_view kConvert = "_convert_";

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

bool HasType(const Node& value, unsigned types) {
  switch (value.kind()) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kBool:
      return types & kBool;
    case Node::Kind::kInt:
      return types & (kInt | kNumber);
    case Node::Kind::kFloat:
      return types & kNumber;
    case Node::Kind::kString:
      return types & kText;
    case Node::Kind::kList:
      return types & kList;
    case Node::Kind::kMap:
      break;
  }
  return types & (kMap | kSection);
}

std::vector<std::string> ChoicesOf(const KeyRule& rule) {
  if (rule.choices.empty()) return {};
  return absl::StrSplit(
      absl::string_view(rule.choices.data(), rule.choices.size()), ' ');
}

bool InRange(const Node& value, const KeyRule& rule) {
  if (value.is_number()) {
    // Written so that a nan is out of every range.
    return value.AsDouble() >= rule.min && value.AsDouble() <= rule.max;
  }
  const std::vector<std::string> choices = ChoicesOf(rule);
  return !value.is_string() || choices.empty() ||
         std::count(choices.begin(), choices.end(), value.AsString()) > 0;
}

std::string NumberText(double value) {
  std::string text = FloatText(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string RangeText(const KeyRule& rule) {
  if (rule.min <= std::numeric_limits<double>::lowest()) return "";
  if (rule.max >= std::numeric_limits<double>::max()) {
    return " of at least " + NumberText(rule.min);
  }
  return absl::StrCat(" from ", NumberText(rule.min), " to ",
                      NumberText(rule.max));
}

std::string TypesText(const KeyRule& rule) {
  std::vector<std::string> names;
  if (rule.types & kBool) names.push_back("true or false");
  if (rule.types & kNumber) {
    names.push_back("a number" + RangeText(rule));
  } else if (rule.types & kInt) {
    names.push_back("an integer" + RangeText(rule));
  }
  if (!rule.choices.empty()) {
    names.push_back("one of " + absl::StrJoin(ChoicesOf(rule), ", "));
  } else if (rule.types & kText) {
    names.push_back("text");
  }
  if (rule.types & kList) names.push_back("a list");
  if (rule.types & (kMap | kSection)) names.push_back("a map");
  return absl::StrJoin(names, " or ");
}

Node FallbackOf(const KeyRule& rule) {
  Problems none;
  return ParseYaml(rule.fallback, "", none).value_or(Node());
}

class Checker {
 public:
  Checker(const Node& recipe, const SchemaOptions& options, Problems& problems)
      : recipe_(recipe), options_(options), problems_(problems) {}

  void Check() {
    CheckSection(recipe_, "");
    CheckOpen(recipe_, "");
    if (const Node* const plugins = recipe_.Find("plugins")) {
      CheckPlugins(*plugins);
    }
    SortByPlace();
    if (!idle_.empty()) NoteIdle();
  }

 private:
  void CheckSection(const Node& section, const std::string& path) {
    for (const Node::Entry& entry : section.entries()) {
      const std::string child =
          path.empty() ? entry.key : absl::StrCat(path, ".", entry.key);
      if (const KeyRule* const rule = FindKey(child)) {
        if (rule->use != KeyUse::kDead || !IsVariable(child)) {
          CheckKey(entry, *rule);
        }
      } else if (LeadsToPluginKey(child) && entry.value.is_map()) {
        CheckSection(entry.value, child);
      } else if (entry.key != kConvert && !IsVariable(child) &&
                 !IsPluginKey(child)) {
        FailUnknown(entry, path);
      }
    }
  }

  void CheckKey(const Node::Entry& entry, const KeyRule& rule) {
    const Node& value = entry.value;
    if (rule.use == KeyUse::kDead) return NoteDead(entry);
    const bool open = value.is_string() && value.AsString() == kOpen;
    if (open || value.is_null()) return;
    if (!HasType(value, rule.types) || !InRange(value, rule)) {
      return FailValue(entry, rule);
    }
    if (rule.use == KeyUse::kLater) return CheckLater(entry, rule);
    if (rule.types & kSection) CheckSection(value, std::string(rule.path));
    if (rule.types & kMap) CheckDeadKeys(value, rule);
  }

  // Of a map that is somebody else's, only the dead keys are known here.
  void CheckDeadKeys(const Node& map, const KeyRule& rule) {
    for (const Node::Entry& entry : map.entries()) {
      const KeyRule* const key =
          FindKey(absl::StrCat(std::string(rule.path), ".", entry.key));
      if (key != nullptr && key->use == KeyUse::kDead) NoteDead(entry);
    }
  }

  void CheckLater(const Node::Entry& entry, const KeyRule& rule) {
    const Node fallback = FallbackOf(rule);
    if (AsksForNothing(entry.value)) return Idle(entry.key);
    const bool is_default = entry.value == fallback;
    if (!is_default && IsMoot(rule)) return Idle(entry.key);
    if (is_default) return Idle(entry.key);
    Add(Severity::kError, entry.value.mark(),
        absl::StrCat("nothing honours ", Quoted(rule.path), " yet"),
        "found " + entry.value.ToDisplay(),
        "remove it, or give it its default, " + fallback.ToDisplay());
  }

  static bool AsksForNothing(const Node& value) {
    return value.is_null() || (value.is_bool() && !value.AsBool()) ||
           (value.is_list() && value.items().empty());
  }

  // Whether the key that would give this one a meaning is not set.
  bool IsMoot(const KeyRule& rule) const {
    if (rule.with.empty()) return false;
    const Node* const other = recipe_.FindPath(rule.with);
    return other == nullptr || AsksForNothing(*other);
  }

  void Idle(const std::string& key) {
    if (std::count(idle_.begin(), idle_.end(), key) == 0) idle_.push_back(key);
  }

  // A key that an interpolation names or leads through.
  bool IsVariable(const std::string& path) const {
    const auto& variables = options_.variables;
    if (variables.count(path) > 0) return true;
    const auto below = variables.lower_bound(path + ".");
    return below != variables.end() && below->starts_with(path + ".");
  }

  bool IsPluginKey(const std::string& path) const {
    const auto& keys = options_.plugin_keys;
    return std::find(keys.begin(), keys.end(), path) != keys.end();
  }

  bool LeadsToPluginKey(const std::string& path) const {
    const auto& keys = options_.plugin_keys;
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return key.starts_with(path + ".");
    });
  }

  void CheckOpen(const Node& node, const std::string& path) {
    if (node.is_string() && node.AsString() == kOpen) {
      Add(Severity::kError, node.mark(), Quoted(path) + " is not set",
          absl::StrCat("the recipe leaves it open (", std::string(kOpen), ")"),
          absl::StrCat("set it: ", path, "=VALUE"));
    }
    const std::string prefix = path.empty() ? "" : path + ".";
    for (size_t i = 0; i < node.items().size(); ++i) {
      CheckOpen(node.items()[i], absl::StrCat(prefix, i));
    }
    for (const Node::Entry& entry : node.entries()) {
      CheckOpen(entry.value, prefix + entry.key);
    }
  }

  // Only the shape; ids and configurations are the plan's.
  void CheckPlugins(const Node& plugins) {
    for (const Node::Entry& entry : plugins.entries()) {
      const Node& value = entry.value;
      if (entry.key == "allow" || entry.key == "path") {
        CheckTexts(entry);
      } else if (entry.key == "auto_require") {
        if (!value.is_bool() && !value.is_null()) {
          FailPlugin(entry, "true or false");
        }
      } else if (!value.is_map() && !value.is_null() && !value.is_bool()) {
        FailPlugin(entry, "a map of its configuration, true or false");
      }
    }
  }

  void CheckTexts(const Node::Entry& entry) {
    const auto& items = entry.value.items();
    const bool texts =
        std::all_of(items.begin(), items.end(),
                    [](const Node& item) { return item.is_string(); });
    if (entry.value.is_null() || (entry.value.is_list() && texts)) return;
    FailPlugin(entry, "a list of texts");
  }

  void FailPlugin(const Node::Entry& entry, std::string_view expected) {
    Add(Severity::kError, entry.value.mark(),
        absl::StrCat("\"plugins.", entry.key, "\" is ",
                     entry.value.ToDisplay()),
        absl::StrCat("expected ", std::string(expected), ", found ",
                     std::string(entry.value.kind_name())),
        "");
  }

  void FailValue(const Node::Entry& entry, const KeyRule& rule) {
    const Node& value = entry.value;
    std::string hint;
    if (value.is_string()) hint = DidYouMean(value.AsString(), ChoicesOf(rule));
    if (hint.empty() && value.kind() == Node::Kind::kFloat &&
        rule.types == kInt) {
      hint = "write it as a whole number, without a dot or exponent";
    }
    std::string detail = "expected " + TypesText(rule);
    if (!HasType(value, rule.types)) {
      absl::StrAppend(&detail, ", found ", std::string(value.kind_name()));
    }
    Add(Severity::kError, value.mark(),
        absl::StrCat(Quoted(rule.path), " is ", value.ToDisplay()),
        std::move(detail), std::move(hint));
  }

  void FailUnknown(const Node::Entry& entry, const std::string& section) {
    std::vector<std::string> known = KeysIn(section);
    for (const std::string& key : options_.plugin_keys) {
      const size_t dot = std::min(key.rfind('.'), key.size());
      if (std::string_view(key).substr(0, dot) == section) {
        known.push_back(key.substr(dot + 1));
      }
    }
    std::string hint = DidYouMean(entry.key, known);
    const std::vector<std::string> sections = SectionsWith(entry.key);
    if (!sections.empty()) {
      hint = sections[0].empty()
                 ? "it belongs at the top of the recipe"
                 : absl::StrCat("it belongs into ", Quoted(sections[0]));
    } else if (hint.empty()) {
      hint = absl::StrCat("remove it; a variable of your own is one that ${",
                          section.empty() ? "" : section + ".", entry.key,
                          "} refers to");
    }
    Add(options_.allow_unknown ? Severity::kWarning : Severity::kError,
        entry.key_mark,
        absl::StrCat("unknown key ", Quoted(entry.key), " in ",
                     section.empty() ? "the recipe" : Quoted(section)),
        "", std::move(hint));
  }

  void NoteDead(const Node::Entry& entry) {
    Add(Severity::kNote, entry.key_mark, Quoted(entry.key) + " has no effect",
        "SuperGradients does not read it either", "");
  }

  void NoteIdle() {
    problems_.push_back({.kind = "recipe",
                         .severity = Severity::kNote,
                         .message = "keys that nothing honours yet are at "
                                    "their defaults",
                         .detail = absl::StrJoin(idle_, ", ")});
  }

  void Add(Severity severity, const Mark& mark, std::string message,
           std::string detail, std::string hint) {
    found_.push_back({.kind = "recipe",
                      .severity = severity,
                      .message = std::move(message),
                      .detail = std::move(detail),
                      .where = {mark},
                      .hint = std::move(hint)});
  }

  void SortByPlace() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Problem& a, const Problem& b) {
                       const Mark& left = a.where[0];
                       const Mark& right = b.where[0];
                       return std::tie(left.file, left.line, left.column) <
                              std::tie(right.file, right.line, right.column);
                     });
    std::move(found_.begin(), found_.end(), std::back_inserter(problems_));
  }

  const Node& recipe_;
  const SchemaOptions& options_;
  Problems& problems_;
  Problems found_;
  std::vector<std::string> idle_;
};

}  // namespace

void CheckSchema(const Node& recipe, const SchemaOptions& options,
                 Problems& problems) {
  Checker(recipe, options, problems).Check();
}

}  // namespace slipway::recipe
