#include "trainer/plan/plan_testutil.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

void SetOrder(recipe::Node& node, int order) {
  node.set_order(order);
  for (recipe::Node& item : node.mutable_items()) SetOrder(item, order);
  for (auto& entry : node.mutable_entries()) SetOrder(entry.value, order);
}

void Merge(const recipe::Node& above, recipe::Node& base) {
  for (const recipe::Node::Entry& entry : above.entries()) {
    recipe::Node* const below = base.Find(entry.key);
    if (below != nullptr && below->is_map() && entry.value.is_map()) {
      Merge(entry.value, *below);
    } else {
      base.Set(entry.key, entry.value, entry.key_mark);
    }
  }
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
  return Compose({{"recipe.yaml", std::string(text)}});
}

recipe::Node Compose(const std::vector<Layer>& layers) {
  recipe::Node composed = recipe::Node::Map();
  int order = 0;
  for (const Layer& layer : layers) {
    Problems problems;
    std::optional<recipe::Node> node =
        recipe::ParseYaml(layer.text, layer.file, problems);
    EXPECT_EQ(FormatProblems(problems), "");
    if (!node) continue;
    SetOrder(*node, ++order);
    Merge(*node, composed);
  }
  return composed;
}

Plan MustResolve(const std::vector<Manifest>& manifests,
                 const recipe::Node& recipe, const Environment& here) {
  Problems problems;
  std::optional<Plan> plan = ResolvePlan(manifests, recipe, here, problems);
  EXPECT_TRUE(plan) << FormatProblems(problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return plan.value_or(Plan());
}

std::string MustFail(const std::vector<Manifest>& manifests,
                     const recipe::Node& recipe, const Environment& here) {
  Problems problems;
  EXPECT_FALSE(ResolvePlan(manifests, recipe, here, problems));
  EXPECT_TRUE(HasErrors(problems));
  return FormatProblems(problems);
}

std::vector<std::string> IdsOf(const Plan& plan) {
  std::vector<std::string> ids;
  for (const PlannedPlugin& plugin : plan.plugins) ids.push_back(plugin.id);
  return ids;
}

}  // namespace slipway::plan
