#include "trainer/plan/config_field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using recipe::Params;
using Type = ConfigField::Type;

constexpr std::pair<Type, std::string_view> kTypes[] = {
    {Type::kBool, "bool"},     {Type::kInt, "int"},   {Type::kFloat, "float"},
    {Type::kString, "string"}, {Type::kList, "list"}, {Type::kMap, "map"},
    {Type::kAny, "any"},
};

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (const auto& [type, name] : kTypes) names.emplace_back(name);
  return names;
}

Type TypeNamed(std::string_view name) {
  for (const auto& [type, known] : kTypes) {
    if (known == name) return type;
  }
  return Type::kString;
}

bool IsNumber(Type type) { return type == Type::kInt || type == Type::kFloat; }

// The limits of a manifest are numbers; an integer's are the integers within.
recipe::IntRule IntRuleOf(const ConfigField& field) {
  constexpr double kLargest = 9.2e18;
  recipe::IntRule rule = {.fallback = 0};
  if (field.min && *field.min > -kLargest) rule.min = std::ceil(*field.min);
  if (field.max && *field.max < kLargest) rule.max = std::floor(*field.max);
  return rule;
}

recipe::DoubleRule DoubleRuleOf(const ConfigField& field) {
  recipe::DoubleRule rule = {.fallback = 0};
  if (field.min) rule.min = *field.min;
  if (field.max) rule.max = *field.max;
  return rule;
}

std::vector<std::string> TextChoices(const ConfigField& field) {
  std::vector<std::string> texts;
  for (const Node& choice : field.choices) texts.push_back(choice.AsString());
  return texts;
}

Node ReadOfKind(const ConfigField& field, const Node& value, bool fits,
                Params& params) {
  params.Raw(field.key);
  if (!fits) {
    params.Fail(field.key, absl::StrCat("\"", field.key, "\" must be a ",
                                        std::string(Name(field.type)), ", not ",
                                        value.ToDisplay()));
  }
  return value;
}

Node ReadTyped(const ConfigField& field, const Node& value, Params& params) {
  switch (field.type) {
    case Type::kBool:
      return Node::Bool(params.Bool(field.key, false), value.mark());
    case Type::kInt:
      return Node::Int(params.Int(field.key, IntRuleOf(field)), value.mark());
    case Type::kFloat:
      return Node::Float(params.Double(field.key, DoubleRuleOf(field)),
                         value.mark());
    case Type::kString:
      return Node::String(params.Text(field.key, "", TextChoices(field)),
                          value.mark());
    case Type::kList:
      return ReadOfKind(field, value, value.is_list(), params);
    case Type::kMap:
      return ReadOfKind(field, value, value.is_map(), params);
    case Type::kAny:
      break;
  }
  return ReadOfKind(field, value, true, params);
}

void AppendDisplay(std::string* out, const Node& node) {
  *out += node.ToDisplay();
}

// Numbers only: texts are checked as they are read.
void CheckChoice(const ConfigField& field, const Node& value, Params& params) {
  const auto& choices = field.choices;
  if (choices.empty() || !value.is_number() || !IsNumber(field.type)) return;
  const auto is_value = [&](const Node& choice) {
    return choice.AsDouble() == value.AsDouble();
  };
  if (std::any_of(choices.begin(), choices.end(), is_value)) return;
  params.Fail(field.key,
              absl::StrCat("\"", field.key, "\" is ", value.ToDisplay(),
                           ", which is none of ",
                           absl::StrJoin(choices, ", ", AppendDisplay)));
}

void ReadLimits(ConfigField& field, Params& params) {
  for (const auto& [name, limit] :
       {std::pair("min", &field.min), std::pair("max", &field.max)}) {
    if (!params.Has(name)) continue;
    *limit = params.Double(name);
    if (!IsNumber(field.type)) {
      params.Fail(
          name, absl::StrCat("\"", name, "\" is for numbers, but \"", field.key,
                             "\" is of type ", std::string(Name(field.type))));
    }
  }
  if (field.min && field.max && *field.min > *field.max) {
    params.Fail("min", "\"min\" is larger than \"max\"");
  }
}

// `value` as if a recipe had given it; nullopt if the field would refuse it.
std::optional<Node> Taken(const ConfigField& field, const Node& value) {
  Node given = Node::Map();
  given.Set(field.key, value);
  Problems problems;
  Params params(given, "", problems);
  Node taken = ReadConfigValue(field, given, params);
  if (!problems.empty()) return std::nullopt;
  return taken;
}

void ReadChoices(ConfigField& field, Params& params) {
  const Node* const given = params.Raw("enum");
  if (given == nullptr) return;
  if (given->items().empty()) {
    params.Fail("enum", "\"enum\" must be a list of values");
  } else if (!IsNumber(field.type) && field.type != Type::kString) {
    params.Fail("enum", "\"enum\" is for texts and numbers");
  }
  std::vector<Node> choices;
  for (const Node& choice : given->items()) {
    if (const std::optional<Node> taken = Taken(field, choice)) {
      choices.push_back(*taken);
      continue;
    }
    params.Fail("enum",
                absl::StrCat("\"enum\" has ", choice.ToDisplay(), ", which \"",
                             field.key, "\" itself does not take"));
  }
  field.choices = std::move(choices);
}

void ReadDefault(ConfigField& field, Params& params) {
  const Node* const given = params.Raw("default");
  if (given == nullptr) return;
  if (const std::optional<Node> taken = Taken(field, *given)) {
    field.fallback = *taken;
    return;
  }
  params.Fail("default", absl::StrCat("the default ", given->ToDisplay(),
                                      " is no value that \"", field.key,
                                      "\" itself takes"));
}

}  // namespace

std::string_view Name(Type type) {
  for (const auto& [known, name] : kTypes) {
    if (known == type) return name;
  }
  return "";
}

bool IsReservedConfigKey(std::string_view key) {
  return key == "version" || key == "on_error" || key == "config";
}

ConfigField ReadConfigField(const Node::Entry& entry, Problems& problems) {
  Params params(entry.value,
                absl::StrCat("configuration key \"", entry.key, "\""), problems,
                "field");
  ConfigField field;
  field.key = entry.key;
  field.mark = entry.key_mark;
  if (IsReservedConfigKey(entry.key)) {
    params.Fail("", absl::StrCat("\"", entry.key,
                                 "\" is no name for a configuration key: it "
                                 "has a meaning of its own in recipes"));
  }
  field.type = TypeNamed(params.Text("type", {}, TypeNames()));
  ReadLimits(field, params);
  ReadChoices(field, params);
  ReadDefault(field, params);
  field.unit = params.Text("unit", "");
  field.help = params.Text("help");
  params.Finish();
  return field;
}

Node ReadConfigValue(const ConfigField& field, const Node& given,
                     Params& params) {
  if (!params.Has(field.key)) {
    params.Ignore(field.key);
    return field.fallback;
  }
  const Node& value = *given.Find(field.key);
  CheckChoice(field, value, params);
  return ReadTyped(field, value, params);
}

}  // namespace slipway::plan
