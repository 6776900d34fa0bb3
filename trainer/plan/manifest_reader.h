// From the tree of a plugin.yaml to a Manifest: the parts of manifest.h's
// ParseManifest.
//
// Each Read function takes its fields from `fields`, a reader of the manifest's
// top level, and appends what is wrong. Not thread-safe.
#ifndef SLIPWAY_TRAINER_PLAN_MANIFEST_READER_H_
#define SLIPWAY_TRAINER_PLAN_MANIFEST_READER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/params.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// Checks each field of `root` by itself, then what must fit together. All
// mistakes are appended, as problems of kind "manifest"; nullopt if there were
// any.
std::optional<Manifest> BuildManifest(const recipe::Node& root,
                                      std::string path, Problems& problems);

// requires, recommends, conflicts and warns.
void ReadRelations(recipe::Params& fields, Manifest& manifest,
                   Problems& problems);

// recipe_keys, components, claims, effects and state.
void ReadRecipeKeys(recipe::Params& fields, Manifest& manifest,
                    Problems& problems);
void ReadComponents(recipe::Params& fields, Manifest& manifest,
                    Problems& problems);
void ReadClaims(recipe::Params& fields, Manifest& manifest, Problems& problems);
void ReadEffects(recipe::Params& fields, Manifest& manifest,
                 Problems& problems);
void ReadState(recipe::Params& fields, Manifest& manifest, Problems& problems);

// The items of `field`, if it is there: an error if it is no list.
std::vector<recipe::Node> ReadList(recipe::Params& fields,
                                   std::string_view field);

// The texts under `field`, if it is there; of `known` ones, unless that is
// empty; none of them twice.
std::vector<std::string> ReadTexts(recipe::Params& fields,
                                   std::string_view field, Problems& problems,
                                   const std::vector<std::string>& known = {});

// The predicate under `when`, if there is one that parses.
std::optional<Predicate> ReadWhen(recipe::Params& fields);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_MANIFEST_READER_H_
