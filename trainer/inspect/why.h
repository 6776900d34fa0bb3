// May two plugins run together, and why?
//
//   const Together answer = AskWhy(ema, compile, world);
//   std::cout << FormatTogether(answer);
//
// A plan of just these two is resolved, with what they require; what would only
// be so under a condition is told with that condition. Pure functions.
#ifndef SLIPWAY_TRAINER_INSPECT_WHY_H_
#define SLIPWAY_TRAINER_INSPECT_WHY_H_

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::inspect {

struct Together {
  std::string first;
  std::string second;
  bool together = false;
  // What speaks for it, a sentence each: claims that do not meet, an order.
  std::vector<std::string> because;
  // Errors are why not; a note that begins with "not while" or "a warning
  // while" tells what would be under its condition.
  Problems problems;
};

// The world in which they would run.
struct World {
  const std::vector<plan::Manifest>& manifests;
  // A map: overrides of the user's, empty for none.
  const recipe::Node& recipe;
  plan::Environment environment;
  const std::vector<std::string>& searched;
};

// The recipe that has just these two.
recipe::Node RecipeOf(const std::string& first, const std::string& second);

// `first` and `second` are among `world.manifests` and in its recipe.
Together AskWhy(const plan::Manifest& first, const plan::Manifest& second,
                const World& world);

// For people; the problems are left to FormatProblems.
std::string FormatTogether(const Together& answer);

// {schema, together, because, problems}.
nlohmann::ordered_json ToJson(const Together& answer);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_WHY_H_
