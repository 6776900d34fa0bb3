// Reads the parameters of a model, a loss, a plugin, ... from a recipe's map.
//
//   Params params(node, "model resnet18", problems);
//   const int64_t classes = params.Int("num_classes", {.min = 1});
//   const double drop = params.Double("dropout", {.fallback = 0, .max = 1});
//   params.Finish();  // what nobody asked for is an error with the nearest key
//   if (HasErrors(problems)) ...
//
// Every getter appends a Problem with the value's place when the value is
// absent without a fallback, of a wrong type or out of range, and returns the
// fallback (or zero), so that one pass finds everything. A nan is out of every
// range, and 1e3 is no integer. Not thread-safe.
#ifndef SLIPWAY_TRAINER_RECIPE_PARAMS_H_
#define SLIPWAY_TRAINER_RECIPE_PARAMS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::recipe {

struct IntRule {
  std::optional<int64_t> fallback = {};
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

struct DoubleRule {
  std::optional<double> fallback = {};
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

class Params {
 public:
  // `node` is a map or null (no parameters); `owner` names whose parameters
  // these are and `noun` what they are called, for messages. Both references
  // must outlive this object.
  Params(const Node& node, std::string owner, Problems& problems,
         std::string noun = "parameter");

  bool Has(std::string_view key) const;  // present and not null
  // Integers. A null value counts as absent, here and below.
  int64_t Int(std::string_view key, const IntRule& rule = {});
  double Double(std::string_view key, const DoubleRule& rule = {});
  bool Bool(std::string_view key, std::optional<bool> fallback = {});
  // `choices` empty: any text.
  std::string Text(std::string_view key,
                   std::optional<std::string> fallback = {},
                   const std::vector<std::string>& choices = {});
  // A list of numbers, or one number for all `length` places (length 0: any).
  std::vector<double> Doubles(std::string_view key, size_t length,
                              std::optional<std::vector<double>> fallback = {});
  std::vector<int64_t> Ints(std::string_view key, size_t length,
                            std::optional<std::vector<int64_t>> fallback = {});
  // The raw value (null if absent) for what has a shape of its own.
  const Node* Raw(std::string_view key);
  // Takes a key that is known but has no effect here.
  void Ignore(std::string_view key);

  // A problem at `key`'s value, for checks that span parameters.
  void Fail(std::string_view key, std::string message, std::string hint = {});

  // Appends an error for each key that was not asked for, with the nearest of
  // those that were.
  void Finish();

 private:
  const Node* Take(std::string_view key, bool required);
  void Wrong(std::string_view key, const Node& value, std::string_view expected,
             std::string hint = {});

  const Node& node_;
  std::string owner_;
  std::string noun_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_PARAMS_H_
