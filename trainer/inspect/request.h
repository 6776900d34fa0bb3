// What inspect is asked.
//
//   Problems problems;
//   const InspectRequest request = ParseInspect({"ema", "--json"}, problems);
//   if (request.subject == Subject::kPlugin) Describe(request.id);
//
// Values only.
#ifndef SLIPWAY_TRAINER_INSPECT_REQUEST_H_
#define SLIPWAY_TRAINER_INSPECT_REQUEST_H_

#include <string>
#include <vector>

#include "trainer/flags.h"
#include "trainer/recipe/problem.h"

namespace slipway::inspect {

enum class Subject {
  kHelp,
  kPlugins,  // all that are found
  kPlugin,   // one: `id`
  kPlan,     // of the recipe
  kWhy,      // may `id` and `other` run together?
  kAbi,      // of `library`
  kGraph,    // of the recipe's plan or, without a recipe, of all plugins
  kSchema,   // the fields of manifests
};

struct InspectRequest {
  Subject subject = Subject::kPlugins;
  std::string id;
  std::string other;
  std::string library;
  bool json = false;
  // What a trainer would have been told: recipe, overrides, folders, device.
  Flags training;
};

// Appends a problem for everything that is wrong: unknown flags, two subjects,
// a subject without what it is about.
InspectRequest ParseInspect(const std::vector<std::string>& arguments,
                            Problems& problems);

// How to call it, with examples, and a line per flag.
std::string InspectHelp();

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_REQUEST_H_
