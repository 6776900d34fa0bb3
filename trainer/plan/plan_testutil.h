// Manifests for tests, without a file and without what the test does not care
// about.
//
//   Manifest ema = MakeManifest("ema", "claims: [eval_weights]");
//
// A mistake in the text is a failure of the test that says it.
#ifndef SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_
#define SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_

#include <string>
#include <string_view>

#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"

namespace slipway::plan {

// The fields that every manifest must have, one a line.
std::string RequiredFields(std::string_view id);

// The manifest `plugins/<id>/plugin.yaml` that has the required fields in its
// first eight lines, `more` from the ninth on, and the hook FitBegin where
// `more` has neither hooks nor components. A required field that `more` sets
// itself
// (`version: 2.0.0`) leaves an empty line above.
Manifest MakeManifest(std::string_view id, std::string_view more = "");

// The YAML text of a recipe, as if read from "recipe.yaml".
recipe::Node MakeRecipe(std::string_view text);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_
