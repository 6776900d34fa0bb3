// What a plugin's library is and does when it is loaded, found out in a child
// process: whatever it does there, this one goes on.
//
//   const ProbedLibrary probed = ProbeLibrary("plugins/ema/libema.so",
//                                             absl::Seconds(10));
//   std::cout << FormatProbe(probed);
//
// The child opens the library (static constructors run), calls its entry and
// compares the tag; where that fits and a plugin.yaml lies beside it, the child
// also creates the plugin with its default configuration, as a training would.
// For one thread.
#ifndef SLIPWAY_TRAINER_INSPECT_PROBE_H_
#define SLIPWAY_TRAINER_INSPECT_PROBE_H_

#include <string>

#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

namespace slipway::inspect {

struct ProbedLibrary {
  std::string library;  // its path
  // Whether it fits this trainer, and nothing went wrong.
  bool matches = false;
  // {library, id, version, matches, created, fields: [{name, trainer, plugin,
  // matches, verdict}], exports, problems}; `created` is null if it was not
  // tried; `verdict` is same, harmless, older or refused.
  std::string json;
  // The problems, for people.
  std::string problems;
};

// `limit`: how long the library may take for everything together.
ProbedLibrary ProbeLibrary(const std::string& path, absl::Duration limit);

// The comparison as a table; what differs is marked.
std::string FormatProbe(const ProbedLibrary& probed);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_PROBE_H_
