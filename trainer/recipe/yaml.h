// Reads a YAML file into a Node that knows where each value was written.
//
//   Problems problems;
//   std::optional<Node> recipe = ReadYamlFile("recipes/x.yaml", problems);
//   if (!recipe) std::cerr << FormatProblems(problems);
//
// Scalars mean what scalar.h says; `<<` merges maps, a map's own keys winning;
// aliases are copies of what they refer to. A key that is a number or a boolean
// becomes text: 1 is "1", on is "true".
//
// These are errors, each with its place, and all of them are found in one pass
// (after wrong syntax nothing more is read): wrong syntax, a duplicate key,
// a null key or one that is a list or map, a tab where indentation or a
// separating space belongs, a second document, an alias that is undefined or
// refers to what contains it, a tag other than YAML's own, text that is not
// UTF-8 or has control characters; and what is too much: 4 MiB of text, 100
// levels, 200,000 values after aliases and merges.
//
// Functions only; safe from any thread.
#ifndef SLIPWAY_TRAINER_RECIPE_YAML_H_
#define SLIPWAY_TRAINER_RECIPE_YAML_H_

#include <optional>
#include <string>
#include <string_view>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::recipe {

// Parses `text`, whose places are reported as in `file`. Problems are of kind
// `kind`. Text without any value is null. Places count columns in characters.
std::optional<Node> ParseYaml(std::string_view text, const std::string& file,
                              Problems& problems,
                              std::string_view kind = "recipe");

// Reads the file at `path`, which also names it in places; an error if there is
// none, if it is no plain file, or if it cannot be read.
std::optional<Node> ReadYamlFile(const std::string& path, Problems& problems,
                                 std::string_view kind = "recipe");

// Parses a value that a user gave outside a file, such as the right side of an
// override. What starts with [, {, " or ' is YAML; all else is one unquoted
// word, whatever is in it: `0.1`, `[1, 2]`, `{a: 1}`, `two words`, `#1`. Every
// part of the value gets the place `mark`. An empty text is null.
std::optional<Node> ParseYamlValue(std::string_view text, const Mark& mark,
                                   Problems& problems);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_YAML_H_
