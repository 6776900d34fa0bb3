#include "trainer/inspect/describe.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace slipway::inspect {
namespace {

using plan::ConfigField;
using plan::Manifest;
using plan::Relation;

std::string Values(const std::vector<recipe::Node>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const auto& value) {
    absl::StrAppend(out, value.ToDisplay());
  });
}

std::string RangeOf(const ConfigField& field) {
  if (field.min && field.max) {
    return absl::StrFormat("%g to %g", *field.min, *field.max);
  }
  if (field.min) return absl::StrFormat("from %g", *field.min);
  return field.max ? absl::StrFormat("up to %g", *field.max) : "";
}

// "float, 0 to 1, default 0.9999"
std::string FormOf(const ConfigField& field) {
  std::vector<std::string> parts = {std::string(Name(field.type))};
  const std::string range = RangeOf(field);
  if (!range.empty()) parts.push_back(range);
  if (!field.unit.empty()) parts.push_back("in " + field.unit);
  if (!field.choices.empty()) {
    parts.push_back("one of " + Values(field.choices));
  }
  parts.push_back(field.fallback.is_null()
                      ? "may be absent"
                      : "default " + field.fallback.ToDisplay());
  return absl::StrJoin(parts, ", ");
}

std::string EffectOf(const plan::RecipeKey& key) {
  std::vector<std::string> parts;
  if (key.enables) {
    parts.push_back(key.when ? "switches it on where " + key.when->text()
                             : "switches it on");
  }
  if (!key.config.empty()) parts.push_back("sets " + key.config);
  if (!key.Wildcard().empty()) parts.push_back("sets keys of the same names");
  if (key.weak) parts.push_back("gives way to others");
  return absl::StrJoin(parts, ", ");
}

// "amp ^1.2 while compile.scope == step"
std::string SubjectOf(const Relation& relation) {
  std::vector<std::string> parts;
  if (!relation.with.empty()) parts.push_back(relation.with);
  if (relation.version) parts.push_back(relation.version->text());
  if (relation.when) parts.push_back("while " + relation.when->text());
  return absl::StrJoin(parts, " ");
}

class Description {
 public:
  explicit Description(const Manifest& manifest) : manifest_(manifest) {}

  std::string Text() {
    Head();
    List("hooks", manifest_.hooks);
    Config();
    Rows("recipe keys", manifest_.recipe_keys, [](const plan::RecipeKey& key) {
      return Row{key.key, EffectOf(key)};
    });
    Rows("components", manifest_.components, [](const auto& kind) {
      return Row{kind.first, absl::StrJoin(kind.second, " ")};
    });
    Relations("requires", manifest_.requires_, "fix");
    Relations("recommends", manifest_.recommends, "advice");
    Relations("conflicts", manifest_.conflicts, "fix");
    Relations("warns", manifest_.warns, "advice");
    List("runs before", manifest_.before);
    List("runs after", manifest_.after);
    List("provides", manifest_.provides);
    Rows("claims", manifest_.claims, [](const plan::Claim& claim) {
      return Row{claim.slot, claim.when ? "while " + claim.when->text() : ""};
    });
    Rows("effects", manifest_.effects, [](const auto& effect) {
      return Row{effect.first, effect.second};
    });
    State();
    List("platforms", manifest_.platforms);
    return std::move(text_);
  }

 private:
  struct Row {
    std::string name;
    std::string value;
  };

  void Head() {
    text_ = absl::StrCat(manifest_.id, " ", ToString(manifest_.version), ", ",
                         std::string(Name(manifest_.status)), ": ",
                         manifest_.summary, "\n");
    Append({"manifest", manifest_.path});
    Append({"library", manifest_.LibraryPath()});
    Append({"plugin API", manifest_.api.text()});
    Append({"license", manifest_.license});
  }

  void Append(const Row& row) {
    if (row.value.empty()) {
      absl::StrAppend(&text_, "  ", row.name, "\n");
    } else {
      absl::StrAppendFormat(&text_, "  %-14s  %s\n", row.name, row.value);
    }
  }

  void Title(const char* title) { absl::StrAppend(&text_, title, "\n"); }

  template <typename Items, typename ToRow>
  void Rows(const char* title, const Items& items, const ToRow& to_row) {
    if (items.empty()) return;
    Title(title);
    for (const auto& item : items) Append(to_row(item));
  }

  void List(const char* title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    Title(title);
    Append({absl::StrJoin(names, " "), ""});
  }

  void Config() {
    if (manifest_.config.empty()) return;
    Title("config");
    for (const ConfigField& field : manifest_.config) {
      Append({field.key, FormOf(field)});
      Append({"", field.help});
    }
  }

  void Relations(const char* title, const std::vector<Relation>& relations,
                 const char* fix) {
    if (relations.empty()) return;
    Title(title);
    for (const Relation& relation : relations) {
      Append({SubjectOf(relation), ""});
      if (!relation.reason.empty()) {
        absl::StrAppend(&text_, "    ", relation.reason, "\n");
      }
      if (!relation.fix.empty()) {
        absl::StrAppend(&text_, "    ", fix, ": ", relation.fix, "\n");
      }
    }
  }

  void State() {
    if (!manifest_.state) return;
    Title("state in checkpoints");
    Append({manifest_.state->key,
            absl::StrCat("version ", manifest_.state->version,
                         manifest_.state->required_on_load
                             ? ", a checkpoint without it is refused"
                             : "")});
  }

  const Manifest& manifest_;
  std::string text_;
};

}  // namespace

std::string DescribePlugin(const Manifest& manifest) {
  return Description(manifest).Text();
}

}  // namespace slipway::inspect
