// Overrides: what a user changes in a recipe from the command line.
//
//   training_hyperparams.max_epochs=3   changes a value
//   +plugins.compile={}                 adds one that it does not have
//   ++seed=1                            sets it either way
//   ~plugins.ema                        removes one
//   arch_params=resnet50_arch_params    chooses a file of a group (compose.h)
//
// Values are YAML: a word, or text in quotes, or a list or map in flow style
// ([1, 2], {a: 1}). Lists are addressed by position: `a.0=x`. Functions only.
#ifndef SLIPWAY_TRAINER_RECIPE_OVERRIDE_H_
#define SLIPWAY_TRAINER_RECIPE_OVERRIDE_H_

#include <optional>
#include <string>
#include <string_view>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::recipe {

struct Override {
  enum class Action { kChange, kAdd, kSet, kRemove };
  Action action = Action::kChange;
  // The key's path, "a.b.c", or a group's, "a/b".
  std::string path;
  // Absent only for a removal that does not say what it removes.
  std::optional<Node> value;
  // As the user wrote it.
  std::string text;
  // "command line" and the number of the argument, from 1.
  Mark mark;
};

// Parses the `number`th override. The problem quotes it.
std::optional<Override> ParseOverride(std::string_view text, int number,
                                      Problems& problems);

// Applies an override to `root`. A map merges into a map that is there already;
// any other value replaces. Where kChange finds no such key this is an error
// that names the nearest key there is, except for what cannot be a slip: a key
// of the schema, and what is in `plugins`, which the plan checks. What is set
// gets the override's place and `order`.
void ApplyOverride(const Override& change, int order, Node& root,
                   Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_OVERRIDE_H_
