// A plugin's configuration: its manifest's defaults, beneath what the recipe
// says of it, under recipe keys and under `plugins:`.
#ifndef SLIPWAY_TRAINER_PLAN_CONFIGURE_H_
#define SLIPWAY_TRAINER_PLAN_CONFIGURE_H_

#include <string>
#include <vector>

#include "trainer/plan/manifest.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

struct Draft;

// One of the places that say what a configuration key is.
struct Setting {
  std::string key;
  recipe::Node value;
  // As the recipe calls it, and where that stands.
  std::string name;
  Mark where;
  bool weak = false;
};

// All that the recipe sets for `manifest`, null values left out.
std::vector<Setting> SettingsOf(const Manifest& manifest, const Draft& draft);

// The complete configuration: each field of the manifest with its value or
// default. Of several settings of one key the one that composition set last
// counts; two of one file (or of the command line) that differ are an error, as
// are unknown keys and values that do not fit.
recipe::Node Configure(const Manifest& manifest, const Draft& draft);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_CONFIGURE_H_
