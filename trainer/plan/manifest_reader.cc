#include "trainer/plan/manifest_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using recipe::Params;
namespace fs = std::filesystem;

constexpr int kSchema = 1;

// Words under `plugins:` in a recipe that are no ids.
const std::vector<std::string>& ReservedIds() {
  static const auto* const ids =
      new std::vector<std::string>{"allow", "path", "auto_require"};
  return *ids;
}

const std::vector<std::string>& PlatformNames() {
  static const auto* const names =
      new std::vector<std::string>{"cpu", "cuda", "linux", "x86_64", "aarch64"};
  return *names;
}

bool IsId(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_' || c == '.';
  };
  return !text.empty() && std::islower(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), allowed) && text.back() != '.' &&
         text.find("..") == std::string_view::npos;
}

template <typename List>
bool Contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string OwnerOf(const Node& root) {
  const Node* const id = root.Find("id");
  if (id == nullptr || !id->is_string()) return "this manifest";
  return absl::StrCat("manifest \"", id->AsString(), "\"");
}

class Reader {
 public:
  Reader(const Node& root, std::string path, Problems& problems)
      : root_(root),
        problems_(problems),
        fields_(root, OwnerOf(root), problems, "field") {
    manifest_.path = std::move(path);
  }

  Manifest Read();

 private:
  bool ReadSchema();
  void ReadIdentity();
  void ReadVersions();
  void ReadDescription();
  void ReadConfig();
  void ReadMarks();
  void CheckUse();
  void CheckConfigNames();
  void CheckOthers();

  void Complain(const Mark& where, std::string message, std::string hint = {});

  const Node& root_;
  Problems& problems_;
  Params fields_;
  Manifest manifest_;
};

void Reader::Complain(const Mark& where, std::string message,
                      std::string hint) {
  problems_.push_back({.message = std::move(message),
                       .where = {where},
                       .hint = std::move(hint)});
}

// False if the manifest is written in another format, whose fields would only
// be misread.
bool Reader::ReadSchema() {
  const Node* const schema = root_.Find("schema");
  if (schema == nullptr || !schema->is_int() || schema->AsInt() == kSchema) {
    fields_.Int("schema", {.min = kSchema, .max = kSchema});
    return true;
  }
  Complain(schema->mark(),
           absl::StrCat(OwnerOf(root_), " is written in schema ",
                        schema->ToDisplay(), "; this Slipway reads schema ",
                        kSchema),
           schema->AsInt() > kSchema ? "use a newer Slipway" : "");
  return false;
}

void Reader::ReadIdentity() {
  manifest_.id = fields_.Text("id");
  manifest_.library = fields_.Text("library");
  if (manifest_.id.empty()) return;
  const bool is_id =
      IsId(manifest_.id) && !Contains(ReservedIds(), manifest_.id);
  const std::string expected = LibraryName(manifest_.id);
  const fs::path library = manifest_.library;
  if (!is_id) {
    fields_.Fail("id",
                 absl::StrCat("\"", manifest_.id, "\" is no id for a plugin"),
                 "lower-case letters, digits and _, such as ema or, for "
                 "plugins of others, com.acme.ema");
  } else if (!library.empty() && library.filename() != expected) {
    fields_.Fail("library",
                 absl::StrCat("the library of \"", manifest_.id, "\" is \"",
                              manifest_.library, "\""),
                 "it must be called " + expected);
  }
}

void Reader::ReadVersions() {
  const std::string version = fields_.Text("version");
  if (!version.empty()) {
    const absl::StatusOr<Version> parsed = Version::Parse(version);
    if (!parsed.ok()) {
      fields_.Fail("version", std::string(parsed.status().message()));
    }
    manifest_.version = parsed.value_or(Version());
  }
  const std::string api = fields_.Text("api");
  if (api.empty()) return;
  const absl::StatusOr<VersionRange> parsed = VersionRange::Parse(api);
  manifest_.api = parsed.value_or(VersionRange());
  if (!parsed.ok()) {
    fields_.Fail("api", std::string(parsed.status().message()));
  } else if (parsed->any()) {
    fields_.Fail("api",
                 "\"*\" is no range for \"api\": nobody can promise to "
                 "work with every version of the plugin API",
                 absl::StrCat("write \"^", ToString(PluginApi()), "\""));
  }
}

void Reader::ReadDescription() {
  static constexpr std::pair<std::string_view, Status> kStatuses[] = {
      {"stable", Status::kStable},
      {"alpha", Status::kAlpha},
      {"planned", Status::kPlanned},
      {"deprecated", Status::kDeprecated}};
  manifest_.summary = fields_.Text("summary");
  manifest_.license = fields_.Text("license");
  const std::string status =
      fields_.Text("status", {}, {"stable", "alpha", "planned", "deprecated"});
  for (const auto& [name, value] : kStatuses) {
    if (name == status) manifest_.status = value;
  }
}

void Reader::ReadConfig() {
  const Node* const config = fields_.Raw("config");
  if (config == nullptr) return;
  if (!config->is_map()) fields_.Fail("config", "\"config\" must be a map");
  for (const Node::Entry& entry : config->entries()) {
    manifest_.config.push_back(ReadConfigField(entry, problems_));
  }
}

void Reader::ReadMarks() {
  for (const Node::Entry& entry : root_.entries()) {
    manifest_.marks[entry.key] = entry.value.mark();
    const std::vector<Node>& items = entry.value.items();
    for (size_t i = 0; i < items.size(); ++i) {
      manifest_.marks[absl::StrCat(entry.key, ".", i)] = items[i].mark();
    }
  }
}

void Reader::CheckUse() {
  const Node* const hooks = root_.Find("hooks");
  const Node* const components = root_.Find("components");
  if (hooks != nullptr && !hooks->items().empty()) return;
  if (components != nullptr && !components->entries().empty()) return;
  Complain(root_.mark(),
           absl::StrCat(OwnerOf(root_),
                        " has neither hooks nor components, so "
                        "that nothing of it would ever run"),
           "list under \"hooks\" those that the plugin implements");
}

void Reader::CheckConfigNames() {
  std::vector<std::string> known;
  for (const ConfigField& field : manifest_.config) known.push_back(field.key);
  for (const RecipeKey& key : manifest_.recipe_keys) {
    if (key.config.empty() || Contains(known, key.config)) continue;
    Complain(key.mark,
             absl::StrCat("\"", key.key, "\" sets \"", key.config,
                          "\", which is no key of \"config\""),
             DidYouMean(key.config, known));
  }
}

// A plugin has no relation to itself.
void Reader::CheckOthers() {
  if (manifest_.id.empty()) return;
  const std::string message =
      absl::StrCat(OwnerOf(root_), " names itself as another plugin");
  for (const auto* list : {&manifest_.requires_, &manifest_.recommends,
                           &manifest_.conflicts, &manifest_.warns}) {
    for (const Relation& relation : *list) {
      if (relation.with == manifest_.id) Complain(relation.mark, message);
    }
  }
  if (Contains(manifest_.before, manifest_.id)) {
    Complain(manifest_.MarkOf("before"), message);
  }
  if (Contains(manifest_.after, manifest_.id)) {
    Complain(manifest_.MarkOf("after"), message);
  }
}

Manifest Reader::Read() {
  if (root_.is_null()) Complain({manifest_.path, 1}, "this manifest is empty");
  if (!root_.is_map() || !ReadSchema()) return {};
  ReadIdentity();
  ReadVersions();
  ReadDescription();
  ReadConfig();
  manifest_.hooks = ReadTexts(fields_, "hooks", problems_, HookNames());
  manifest_.before = ReadTexts(fields_, "before", problems_);
  manifest_.after = ReadTexts(fields_, "after", problems_);
  manifest_.provides = ReadTexts(fields_, "provides", problems_);
  manifest_.platforms =
      ReadTexts(fields_, "platforms", problems_, PlatformNames());
  for (auto* read : {ReadRecipeKeys, ReadComponents, ReadRelations, ReadClaims,
                     ReadEffects, ReadState}) {
    read(fields_, manifest_, problems_);
  }
  fields_.Finish();
  ReadMarks();
  CheckUse();
  CheckConfigNames();
  CheckOthers();
  return std::move(manifest_);
}

}  // namespace

std::optional<Manifest> BuildManifest(const Node& root, std::string path,
                                      Problems& problems) {
  Problems found;
  Manifest manifest = Reader(root, std::move(path), found).Read();
  for (Problem& problem : found) {
    problem.kind = "manifest";
    if (!manifest.id.empty()) problem.plugins = {manifest.id};
  }
  problems.insert(problems.end(), found.begin(), found.end());
  if (!found.empty()) return std::nullopt;
  return manifest;
}

}  // namespace slipway::plan
