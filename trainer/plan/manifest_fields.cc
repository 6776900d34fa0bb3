#include "trainer/plan/manifest_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/manifest.h"

namespace slipway::plan {
namespace {

// A relation to another plugin, whose last field is `advice`.
std::string Relation(const std::string& advice, const std::string& meaning) {
  return absl::StrCat("`{with, version, when, reason, ", advice,
                      "}`: ", meaning);
}

std::vector<ManifestField> Needed() {
  return {
      {"schema", "yes", "1"},
      {"id", "yes", "`ema`; for others' plugins `com.acme.ema`"},
      {"version", "yes", "three numbers ([SemVer](https://semver.org))"},
      {"api", "yes",
       "which plugin APIs it works with: `^1.0` or `\">=1.0 <2\"`, never `*`"},
      {"library", "yes", "`lib<id>.so`, dots as `_`; relative to the manifest"},
      {"summary", "yes", "what it is for, in one line"},
      {"license", "yes", "its name, such as `Apache-2.0`"},
      {"status", "yes",
       "`stable`, `alpha`, `planned` (cannot be run yet) or `deprecated`"},
      {"hooks", "this or components",
       "the hooks it implements; no others are called"},
      {"components", "this or hooks",
       absl::StrCat("kind -> names; kinds are ",
                    absl::StrJoin(ComponentKinds(), ", "))},
  };
}

std::vector<ManifestField> Optional() {
  return {
      {"config", "",
       "key -> `{type, default, min, max, enum, unit, help}`; types are bool, "
       "int, float, string, list, map, any; `type` and `help` are needed"},
      {"recipe_keys", "",
       "`{key, enables, config, when, weak}`: a key of the recipe that "
       "switches the plugin on, or sets one of its `config`; `a.b.*` sets "
       "those of the same names; a `weak` one gives way to all others"},
      {"requires", "", Relation("fix", "must be in the plan")},
      {"recommends", "", Relation("advice", "a note if it is not")},
      {"conflicts", "",
       Relation("fix",
                "cannot be used together, whichever of the two says so; "
                "without `with`, cannot be used while `when` holds")},
      {"warns", "", Relation("advice", "the same, as a warning")},
      {"before", "", "plugins that must run later, if they are there"},
      {"after", "", "plugins that must run earlier, if they are there"},
      {"provides", "",
       "names that others may use for it in `with`, `before`, `after`"},
      {"claims", "",
       "slots that one plugin at a time can hold, or `{slot, when}`"},
      {"effects", "", "`{memory, numerics, speed}`, in words"},
      {"state", "",
       "`{key, version, required_on_load}`: what it keeps in checkpoints"},
      {"platforms", "",
       "of cpu, cuda, linux, x86_64, aarch64; of each sort that is named, one "
       "must be here"},
  };
}

std::vector<ManifestField> AllFields() {
  std::vector<ManifestField> fields = Needed();
  for (ManifestField& field : Optional()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

const std::vector<ManifestField>& ManifestFields() {
  static const auto* const fields = new std::vector<ManifestField>(AllFields());
  return *fields;
}

std::string ManifestFieldsMarkdown() {
  std::string text = "| field | needed | what it says |\n|---|---|---|\n";
  for (const ManifestField& field : ManifestFields()) {
    absl::StrAppend(&text, "| `", field.name, "` |",
                    field.needed.empty() ? "" : absl::StrCat(" ", field.needed),
                    " | ", field.meaning, " |\n");
  }
  return text;
}

}  // namespace slipway::plan
