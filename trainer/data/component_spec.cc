#include "trainer/data/component_spec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::data {
namespace {

using recipe::Node;

constexpr char kTarget[] = "_target_";

std::string LastWord(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
}

ComponentSpec OfTarget(const Node& value, const Node& target) {
  ComponentSpec spec = {LastWord(target.AsString()), value, target.mark()};
  spec.params.Erase(kTarget);
  return spec;
}

}  // namespace

std::optional<ComponentSpec> ReadComponent(const Node& value,
                                           std::string_view noun,
                                           Problems& problems) {
  if (value.is_string()) {
    return ComponentSpec{value.AsString(), Node(value.mark()), value.mark()};
  }
  const Node* target = value.Find(kTarget);
  if (target != nullptr && target->is_string()) {
    return OfTarget(value, *target);
  }
  if (value.entries().size() == 1) {
    const Node::Entry& entry = value.entries().front();
    return ComponentSpec{entry.key, entry.value, entry.key_mark};
  }
  problems.push_back({.kind = "value",
                      .message = absl::StrCat("a ", std::string(noun), " is ",
                                              value.ToDisplay()),
                      .detail = "expected Name, or Name: {its parameters}",
                      .where = {value.mark()}});
  return std::nullopt;
}

std::vector<ComponentSpec> ReadComponents(const Node& value,
                                          std::string_view noun,
                                          Problems& problems) {
  std::vector<Node> items = value.items();
  if (!value.is_list() && !value.is_null()) items = {value};
  std::vector<ComponentSpec> specs;
  for (const Node& item : items) {
    std::optional<ComponentSpec> spec = ReadComponent(item, noun, problems);
    if (spec) specs.push_back(*std::move(spec));
  }
  return specs;
}

Problem UnknownComponent(const ComponentSpec& spec, std::string_view noun,
                         const std::vector<std::string>& known) {
  std::string hint = DidYouMean(spec.name, known);
  if (hint.empty() && !known.empty()) {
    hint = "known are " + absl::StrJoin(known, ", ");
  }
  return {.kind = "not_found",
          .message = absl::StrCat("there is no ", std::string(noun), " \"",
                                  spec.name, "\""),
          .where = {spec.where},
          .hint = std::move(hint)};
}

}  // namespace slipway::data
