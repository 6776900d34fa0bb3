// What a plain (unquoted) word of YAML means.
//
//   ParsePlainScalar("1e-6")   // a number, 0.000001
//   ParsePlainScalar("Off")    // a boolean, false
//   ParsePlainScalar("0o17")   // text
//
// The rules are those by which OmegaConf reads recipes: YAML 1.1 with numbers
// such as 5e-4 and without dates. They are not those of yaml-cpp, which leaves
// all scalars as text. Pure functions, safe from any thread.
#ifndef SLIPWAY_TRAINER_RECIPE_SCALAR_H_
#define SLIPWAY_TRAINER_RECIPE_SCALAR_H_

#include <string>
#include <string_view>

#include "trainer/recipe/node.h"

namespace slipway::recipe {

// The value of an unquoted scalar, of no place:
//   null      empty, ~, null, Null, NULL
//   boolean   yes no true false on off, each also as Yes and YES
//   integer   10, -3, 1_000, 0x1F, 0b11, 017 (octal), 1:30 (sixties, 90)
//   number    0.5, 1., .5, 5e-4, 1_0.5, 1:30.5 (sixties), .inf, -.inf, .nan
//   text      all else, such as 0o17, 2001-01-01, -.5, 1e
// An integer beyond 64 bits becomes a number.
Node ParsePlainScalar(std::string_view text);

// The shortest text that reads back as exactly `value`, as Python prints it:
// 0.1, 1.0, 1e-06, 1e+16, inf, -inf, nan.
std::string FloatText(double value);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_SCALAR_H_
