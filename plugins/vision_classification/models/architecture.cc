#include "plugins/vision_classification/models/architecture.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/node.h"

namespace slipway::vision_classification {
namespace {

bool IsRow(const recipe::Node& node, size_t columns) {
  return node.is_list() && node.items().size() == columns &&
         std::all_of(node.items().begin(), node.items().end(),
                     [](const recipe::Node& n) { return n.is_number(); });
}

}  // namespace

int64_t ReadClasses(recipe::Params& params, bool head) {
  recipe::IntRule rule = {.min = 1, .max = 1'000'000};
  if (!head) rule.fallback = 1;
  return params.Int("num_classes", rule);
}

int64_t ReadChannels(recipe::Params& params, std::string_view key) {
  return params.Int(key, {.fallback = 3, .min = 1, .max = 10'000});
}

double ReadProbability(recipe::Params& params, std::string_view key,
                       double fallback) {
  return params.Double(key, {.fallback = fallback, .min = 0, .max = 1});
}

Rows ReadRows(recipe::Params& params, std::string_view key, size_t columns) {
  const recipe::Node* node = params.Raw(key);
  if (node == nullptr || node->is_null()) return {};
  Rows rows;
  const auto fail = [&] {
    params.Fail(key, absl::StrCat("expected a list of lists of ", columns,
                                  " numbers each"));
    return Rows();
  };
  if (!node->is_list() || node->items().empty()) return fail();
  for (const recipe::Node& row : node->items()) {
    if (!IsRow(row, columns)) return fail();
    std::vector<double>& numbers = rows.emplace_back();
    for (const recipe::Node& item : row.items()) {
      numbers.push_back(item.AsDouble());
    }
  }
  return rows;
}

void ExpectSame(recipe::Params& params, std::string_view key, bool same,
                std::string_view custom) {
  if (same) return;
  params.Fail(key, "the architecture's name decides this, and not so",
              "leave it out, or take architecture: " + std::string(custom));
}

}  // namespace slipway::vision_classification
