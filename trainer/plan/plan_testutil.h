// Manifests, recipes and plans for tests, without files and without what the
// test does not care about.
//
//   Manifest ema = MakeManifest("ema", "claims: [eval_weights]");
//   Plan plan = MustResolve({ema}, MakeRecipe("plugins: {ema: {}}"));
//
// A mistake in the text is a failure of the test that says it.
#ifndef SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_
#define SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_

#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/environment.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/plan.h"
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

// A recipe composed of files, later ones over earlier ones: maps are merged,
// all else is replaced. Each value knows the file that set it last, and its
// number.
struct Layer {
  std::string file;
  std::string text;
};
recipe::Node Compose(const std::vector<Layer>& layers);

// The plan of a recipe that has one; a failure of the test if it has none.
Plan MustResolve(const std::vector<Manifest>& manifests,
                 const recipe::Node& recipe, const Environment& here = {});

// The problems of one that has none, as people read them; likewise.
std::string MustFail(const std::vector<Manifest>& manifests,
                     const recipe::Node& recipe, const Environment& here = {});

// The ids of a plan's plugins, in load order.
std::vector<std::string> IdsOf(const Plan& plan);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PLAN_TESTUTIL_H_
