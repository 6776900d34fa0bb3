// The table of a recipe's keys. Internal to schema.h.
//
//   const KeyRule* rule = FindKey("training_hyperparams.max_epochs");
//   const std::vector<std::string> keys = KeysIn("checkpoint_params");
//
// Constant data, safe from any thread.
#ifndef SLIPWAY_TRAINER_RECIPE_SCHEMA_TABLE_H_
#define SLIPWAY_TRAINER_RECIPE_SCHEMA_TABLE_H_

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::recipe {

// Kinds of values, to be joined with |.
enum KeyType : unsigned {
  kBool = 1,
  kInt = 2,
  kNumber = 4,  // integers, too
  kText = 8,
  kList = 16,
  kMap = 32,      // its keys are somebody else's
  kSection = 64,  // a map whose keys are in this table
  kAny = kBool | kNumber | kText | kList | kMap,
};

enum class KeyUse {
  kHonoured,
  kLater,  // known, but nothing honours it yet
  kDead,   // in SuperGradients' own recipes, but nothing reads it there either
};

struct KeyRule {
  std::string_view path;
  unsigned types = kAny;
  // Of numbers. A range that begins above zero is written as such.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  // Of text, with a blank between them; none: any.
  std::string_view choices = {};
  KeyUse use = KeyUse::kHonoured;
  // Of a key that nothing honours yet, as YAML; empty: null.
  std::string_view fallback = {};
  // The key without whose value this one asks for nothing; empty: none.
  std::string_view with = {};
};

// Null if there is no such key.
const KeyRule* FindKey(std::string_view path);

// The names of the keys directly in `section` ("" for the top).
std::vector<std::string> KeysIn(std::string_view section);

// The sections that have a key `name`.
std::vector<std::string> SectionsWith(std::string_view name);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_SCHEMA_TABLE_H_
