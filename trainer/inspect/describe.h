// All that a manifest says, for people and as JSON.
//
//   std::cout << DescribePlugin(manifest);
//
// Functions only.
#ifndef SLIPWAY_TRAINER_INSPECT_DESCRIBE_H_
#define SLIPWAY_TRAINER_INSPECT_DESCRIBE_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/manifest.h"

namespace slipway::inspect {

// Sections in the manifest's order; those that it leaves empty are left out.
std::string DescribePlugin(const plan::Manifest& manifest);

// Every field of the manifest with its default where it was left out;
// `manifest` is its path and `library` the library's.
nlohmann::ordered_json PluginJson(const plan::Manifest& manifest);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_DESCRIBE_H_
