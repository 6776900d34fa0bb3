#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/manifest_reader.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using recipe::Params;

bool Has(const std::vector<std::string>& list, const Node& text) {
  return std::count(list.begin(), list.end(), text.AsString()) > 0;
}

// What is wrong with `item` as the next of `texts` under `field`; its message
// is empty if nothing is.
Problem MistakeIn(const Node& item, const std::vector<std::string>& texts,
                  const std::string& field,
                  const std::vector<std::string>& known) {
  const std::string has = absl::StrCat("\"", field, "\" has ");
  Problem mistake = {.where = {item.mark()}};
  if (!item.is_string() || item.AsString().empty()) {
    mistake.message = absl::StrCat(has, item.ToDisplay(), ", which is no name");
  } else if (Has(texts, item)) {
    mistake.message = absl::StrCat(has, item.ToDisplay(), " twice");
  } else if (!known.empty() && !Has(known, item)) {
    mistake.message = absl::StrCat(has, "the unknown name ", item.ToDisplay());
    mistake.hint = DidYouMean(item.AsString(), known);
    if (mistake.hint.empty()) {
      mistake.hint = "known are " + absl::StrJoin(known, ", ");
    }
  }
  return mistake;
}

void CheckRecipeKey(const RecipeKey& key, Params& params) {
  const bool sets = key.enables || !key.config.empty();
  if (key.when && !key.enables) {
    params.Fail("when", "\"when\" needs \"enables: true\"");
  } else if (!key.Wildcard().empty() && sets) {
    params.Fail("key", absl::StrCat("\"", key.key,
                                    "\" takes neither \"enables\" nor "
                                    "\"config\": it stands for many keys"));
  } else if (key.Wildcard().empty() && !sets) {
    params.Fail("key",
                absl::StrCat("\"", key.key,
                             "\" neither switches the plugin on "
                             "nor configures it"),
                "give it \"enables: true\", or \"config\" with the name of a "
                "configuration key");
  }
}

RecipeKey ReadRecipeKey(const Node& item, Problems& problems) {
  Params params(item, "an entry of \"recipe_keys\"", problems, "field");
  RecipeKey key;
  key.mark = item.mark();
  key.key = params.Text("key");
  key.enables = params.Bool("enables", false);
  key.config = params.Text("config", "");
  key.when = ReadWhen(params);
  key.weak = params.Bool("weak", false);
  params.Finish();
  if (!key.key.empty()) CheckRecipeKey(key, params);
  return key;
}

Claim ReadClaim(const Node& item, Problems& problems) {
  Node as_map = Node::Map(item.mark());
  if (item.is_string()) as_map.Set("slot", item);
  Params params(item.is_string() ? as_map : item, "an entry of \"claims\"",
                problems, "field");
  Claim claim;
  claim.mark = item.mark();
  claim.slot = params.Text("slot", {}, ClaimNames());
  claim.when = ReadWhen(params);
  params.Finish();
  return claim;
}

}  // namespace

std::vector<Node> ReadList(Params& fields, std::string_view field) {
  const Node* const list = fields.Raw(field);
  if (list == nullptr) return {};
  if (!list->is_list()) {
    fields.Fail(
        field, absl::StrCat("\"", std::string(field), "\" must be a list, not ",
                            list->ToDisplay()));
  }
  return list->items();
}

std::vector<std::string> ReadTexts(Params& fields, std::string_view field,
                                   Problems& problems,
                                   const std::vector<std::string>& known) {
  std::vector<std::string> texts;
  for (const Node& item : ReadList(fields, field)) {
    Problem mistake = MistakeIn(item, texts, std::string(field), known);
    if (mistake.message.empty()) {
      texts.push_back(item.AsString());
    } else {
      problems.push_back(std::move(mistake));
    }
  }
  return texts;
}

std::optional<Predicate> ReadWhen(Params& fields) {
  if (!fields.Has("when")) {
    fields.Ignore("when");
    return std::nullopt;
  }
  const Node& given = *fields.Raw("when");
  if (!given.is_string()) {
    fields.Fail(
        "when",
        absl::StrCat("\"when\" must be a condition, not ", given.ToDisplay()),
        "such as \"world_size > 1\"");
    return std::nullopt;
  }
  const absl::StatusOr<Predicate> predicate =
      Predicate::Parse(given.AsString());
  if (predicate.ok()) return *predicate;
  fields.Fail("when", absl::StrCat("the condition ", given.ToDisplay(),
                                   " does not parse: ",
                                   std::string(predicate.status().message())));
  return std::nullopt;
}

void ReadRecipeKeys(Params& fields, Manifest& manifest, Problems& problems) {
  for (const Node& item : ReadList(fields, "recipe_keys")) {
    manifest.recipe_keys.push_back(ReadRecipeKey(item, problems));
  }
}

void ReadComponents(Params& fields, Manifest& manifest, Problems& problems) {
  const Node* const components = fields.Raw("components");
  if (components == nullptr) return;
  Params params(*components, "\"components\"", problems, "kind");
  for (const std::string& kind : ComponentKinds()) {
    std::vector<std::string> names = ReadTexts(params, kind, problems);
    if (!names.empty()) manifest.components[kind] = std::move(names);
  }
  params.Finish();
}

void ReadClaims(Params& fields, Manifest& manifest, Problems& problems) {
  for (const Node& item : ReadList(fields, "claims")) {
    manifest.claims.push_back(ReadClaim(item, problems));
  }
}

void ReadEffects(Params& fields, Manifest& manifest, Problems& problems) {
  const Node* const effects = fields.Raw("effects");
  if (effects == nullptr) return;
  Params params(*effects, "\"effects\"", problems, "field");
  for (const char* on : {"memory", "numerics", "speed"}) {
    const std::string effect = params.Text(on, "");
    if (!effect.empty()) manifest.effects[on] = effect;
  }
  params.Finish();
}

void ReadState(Params& fields, Manifest& manifest, Problems& problems) {
  const Node* const state = fields.Raw("state");
  if (state == nullptr) return;
  Params params(*state, "\"state\"", problems, "field");
  StateDeclaration& declared = manifest.state.emplace();
  declared.key = params.Text("key");
  declared.version = params.Int("version", {.fallback = 1, .min = 1});
  declared.required_on_load = params.Bool("required_on_load", false);
  params.Finish();
}

}  // namespace slipway::plan
