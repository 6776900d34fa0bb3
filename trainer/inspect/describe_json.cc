#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "trainer/inspect/describe.h"

namespace slipway::inspect {
namespace {

using Json = nlohmann::ordered_json;
using plan::Manifest;

Json TextOf(const std::optional<plan::Predicate>& when) {
  return when ? Json(when->text()) : Json();
}

Json ConfigJson(const Manifest& manifest) {
  Json config = Json::object();
  for (const plan::ConfigField& field : manifest.config) {
    Json choices = Json::array();
    for (const recipe::Node& choice : field.choices) {
      choices.push_back(choice.ToJson());
    }
    config[field.key] = {{"type", std::string(Name(field.type))},
                         {"default", field.fallback.ToJson()},
                         {"min", field.min ? Json(*field.min) : Json()},
                         {"max", field.max ? Json(*field.max) : Json()},
                         {"enum", std::move(choices)},
                         {"unit", field.unit},
                         {"help", field.help}};
  }
  return config;
}

Json RecipeKeysJson(const Manifest& manifest) {
  Json keys = Json::array();
  for (const plan::RecipeKey& key : manifest.recipe_keys) {
    keys.push_back({{"key", key.key},
                    {"enables", key.enables},
                    {"config", key.config},
                    {"when", TextOf(key.when)},
                    {"weak", key.weak}});
  }
  return keys;
}

Json RelationsJson(const std::vector<plan::Relation>& relations,
                   const char* fix) {
  Json list = Json::array();
  for (const plan::Relation& relation : relations) {
    list.push_back(
        {{"with", relation.with},
         {"version",
          relation.version ? Json(relation.version->text()) : Json()},
         {"when", TextOf(relation.when)},
         {"reason", relation.reason},
         {fix, relation.fix}});
  }
  return list;
}

Json ClaimsJson(const Manifest& manifest) {
  Json claims = Json::array();
  for (const plan::Claim& claim : manifest.claims) {
    claims.push_back({{"slot", claim.slot}, {"when", TextOf(claim.when)}});
  }
  return claims;
}

Json StateJson(const Manifest& manifest) {
  if (!manifest.state) return Json();
  return {{"key", manifest.state->key},
          {"version", manifest.state->version},
          {"required_on_load", manifest.state->required_on_load}};
}

}  // namespace

Json PluginJson(const Manifest& manifest) {
  return {{"schema", manifest.schema},
          {"id", manifest.id},
          {"version", ToString(manifest.version)},
          {"api", manifest.api.text()},
          {"manifest", manifest.path},
          {"library", manifest.LibraryPath()},
          {"summary", manifest.summary},
          {"license", manifest.license},
          {"status", std::string(Name(manifest.status))},
          {"hooks", manifest.hooks},
          {"components", manifest.components},
          {"config", ConfigJson(manifest)},
          {"recipe_keys", RecipeKeysJson(manifest)},
          {"requires", RelationsJson(manifest.requires_, "fix")},
          {"recommends", RelationsJson(manifest.recommends, "advice")},
          {"conflicts", RelationsJson(manifest.conflicts, "fix")},
          {"warns", RelationsJson(manifest.warns, "advice")},
          {"before", manifest.before},
          {"after", manifest.after},
          {"provides", manifest.provides},
          {"claims", ClaimsJson(manifest)},
          {"effects", manifest.effects},
          {"state", StateJson(manifest)},
          {"platforms", manifest.platforms}};
}

}  // namespace slipway::inspect
