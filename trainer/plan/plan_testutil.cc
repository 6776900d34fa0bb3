#include "trainer/plan/plan_testutil.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::plan {
namespace {

// The required fields that `more` does not set itself; empty lines for others.
std::string FieldsBeneath(std::string_view id, const std::string& more) {
  std::string text;
  for (absl::string_view line :
       absl::StrSplit(RequiredFields(id), '\n', absl::SkipEmpty())) {
    const std::string field(line.substr(0, line.find(':') + 1));
    const bool is_set =
        more.starts_with(field) || more.find("\n" + field) != std::string::npos;
    absl::StrAppend(&text, is_set ? absl::string_view() : line, "\n");
  }
  return text;
}

}  // namespace

std::string RequiredFields(std::string_view id) {
  return absl::StrCat("schema: 1\nid: ", std::string(id),
                      "\nversion: 1.0.0\napi: ^1.0\nlibrary: ", LibraryName(id),
                      "\nsummary: for a test\n"
                      "license: Apache-2.0\nstatus: stable\n");
}

Manifest MakeManifest(std::string_view id, std::string_view more) {
  std::string rest(more);
  const bool has_use = absl::StrContains(rest, "hooks:") ||
                       absl::StrContains(rest, "components:");
  if (!has_use) rest += "\nhooks: [FitBegin]\n";
  Problems problems;
  const std::optional<Manifest> manifest = ParseManifest(
      FieldsBeneath(id, rest) + rest,
      absl::StrCat("plugins/", std::string(id), "/plugin.yaml"), problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return manifest.value_or(Manifest());
}

recipe::Node MakeRecipe(std::string_view text) {
  Problems problems;
  const std::optional<recipe::Node> recipe =
      recipe::ParseYaml(text, "recipe.yaml", problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return recipe.value_or(recipe::Node::Map());
}

}  // namespace slipway::plan
