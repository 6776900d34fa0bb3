// One key of a plugin's configuration, as its manifest declares it.
//
//   config:
//     decay: {type: float, default: 0.9999, min: 0, max: 1, help: weight kept}
//
//   recipe::Params params(given, "plugin \"ema\"", problems);
//   recipe::Node decay = ReadConfigValue(field, given, params);
//
// Values only; functions are safe from any thread.
#ifndef SLIPWAY_TRAINER_PLAN_CONFIG_FIELD_H_
#define SLIPWAY_TRAINER_PLAN_CONFIG_FIELD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/params.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

struct ConfigField {
  // kAny: the plugin itself checks the value.
  enum class Type { kBool, kInt, kFloat, kString, kList, kMap, kAny };
  std::string key;
  Type type = Type::kString;
  recipe::Node fallback;  // null: the key may stay absent
  std::optional<double> min;
  std::optional<double> max;
  std::vector<recipe::Node> choices;  // "enum"; empty: any
  std::string unit;
  std::string help;
  Mark mark;
};

// "bool", "int", "float", "string", "list", "map" or "any", as manifests write
// it.
std::string_view Name(ConfigField::Type type);

// Whether `key` has a meaning of its own in a recipe's entry of a plugin
// (version, on_error, config), so that no plugin may use it.
bool IsReservedConfigKey(std::string_view key);

// Reads the declaration `entry` of a manifest's `config`; every mistake is
// appended, among them a default that the field itself would refuse.
ConfigField ReadConfigField(const recipe::Node::Entry& entry,
                            Problems& problems);

// The value of `field` in the map `given` that `params` reads, of exactly the
// field's type and with its place; the fallback where it is absent or null. A
// value that does not fit is appended as a problem.
recipe::Node ReadConfigValue(const ConfigField& field,
                             const recipe::Node& given, recipe::Params& params);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_CONFIG_FIELD_H_
