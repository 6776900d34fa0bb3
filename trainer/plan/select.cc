#include "trainer/plan/select.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/plan/draft.h"

namespace slipway::plan {
namespace {

using recipe::Node;

// What one place of a recipe says about whether a plugin runs.
struct Statement {
  bool on = false;
  std::string name;
  Mark where;
  int order = 0;
  Because because = Because::kRecipe;
};

std::optional<bool> IsOn(const Node& value) {
  if (value.is_bool()) return value.AsBool();
  if (value.is_number()) return value.AsDouble() > 0;
  return std::nullopt;
}

// What the recipe says under `key`; nullopt if it says nothing there.
std::optional<Statement> StatementOf(const RecipeKey& key, const Draft& draft) {
  if (!key.enables) return std::nullopt;
  const Node* const given = draft.recipe.FindPath(key.key);
  const bool is_there = given != nullptr && !given->is_null();
  Statement statement;
  statement.name = key.key;
  statement.because = Because::kRecipeKey;
  if (is_there) {
    statement.where = given->mark();
    statement.order = given->order();
  }
  std::optional<bool> on;
  if (key.when) {
    on = draft.Holds(key.when);
    if (!is_there && !*on) return std::nullopt;
  } else if (is_there) {
    on = IsOn(*given);
  }
  if (!on) return std::nullopt;
  statement.on = *on;
  return statement;
}

// The keys' common word: on if any says so, and then the last of those.
std::optional<Statement> KeysStatement(const Manifest& manifest,
                                       const Draft& draft) {
  std::optional<Statement> common;
  for (const RecipeKey& key : manifest.recipe_keys) {
    const std::optional<Statement> own = StatementOf(key, draft);
    if (!own) continue;
    const auto rank = [](const Statement& s) {
      return std::pair(s.on, s.order);
    };
    if (!common || rank(*common) < rank(*own)) common = own;
  }
  return common;
}

std::optional<Statement> SectionStatement(const Manifest& manifest,
                                          const Draft& draft) {
  std::optional<Statement> last;
  for (const SectionEntry* entry : draft.section.Of(manifest.id)) {
    if (last && entry->order < last->order) continue;
    last = Statement{.on = entry->on,
                     .name = absl::StrCat("plugins.", manifest.id),
                     .where = entry->where,
                     .order = entry->order,
                     .because = Because::kRecipe};
  }
  return last;
}

std::string OnOrOff(const Statement& statement) {
  return absl::StrCat(statement.name, " switches it ",
                      statement.on ? "on" : "off");
}

// Who is right, where key and section differ.
Statement Settle(const std::string& id, const Statement& key,
                 const Statement& section, Problems& problems) {
  if (key.where.file == section.where.file) {
    problems.push_back(
        {.kind = "value",
         .message = absl::StrCat("plugin \"", id,
                                 "\" is switched on and off in one place"),
         .detail = absl::StrCat(OnOrOff(section), ", ", OnOrOff(key)),
         .where = {section.where, key.where},
         .hint = "remove one of them",
         .plugins = {id}});
  }
  return key.order > section.order ? key : section;
}

std::optional<Statement> StatementAbout(const Manifest& manifest,
                                        Draft& draft) {
  const std::optional<Statement> key = KeysStatement(manifest, draft);
  const std::optional<Statement> section = SectionStatement(manifest, draft);
  if (!key || !section) return key ? key : section;
  if (key->on == section->on) return section;
  return Settle(manifest.id, *key, *section, draft.problems);
}

void SelectStated(Draft& draft) {
  std::vector<std::pair<const Manifest*, Statement>> stated;
  for (const Manifest* manifest : draft.manifests) {
    const std::optional<Statement> statement = StatementAbout(*manifest, draft);
    if (statement && statement->on) stated.emplace_back(manifest, *statement);
  }
  for (const SectionEntry& entry : draft.section.entries) {
    for (const auto& [manifest, statement] : stated) {
      const bool is_next =
          manifest->id == entry.id && draft.FindChosen(entry.id) == nullptr;
      if (is_next) draft.Add(*manifest, statement.because, statement.where);
    }
  }
  for (const auto& [manifest, statement] : stated) {
    if (draft.FindChosen(manifest->id) != nullptr) continue;
    draft.Add(*manifest, statement.because, statement.where);
  }
}

}  // namespace

void SelectPlugins(Draft& draft) {
  SelectStated(draft);
  SelectComponents(draft);
}

}  // namespace slipway::plan
