// How many ranks and threads train fastest: measured, by ten real steps of
// each.
//
//   std::vector<Trial> trials = SensibleTrials(machine);
//   for (Trial& trial : trials) {
//     if (!Measure(request, trial)) break;
//   }
//   std::cout << FormatTrials(trials);
//   const Trial* best = Best(trials);   // best->flags
//
// Each trial launches the trainer as a run would, with a few steps and a run
// folder that is thrown away.
#ifndef SLIPWAY_LAUNCHER_CALIBRATE_CALIBRATE_H_
#define SLIPWAY_LAUNCHER_CALIBRATE_CALIBRATE_H_

#include <string>
#include <vector>

#include "launcher/flags.h"
#include "launcher/launch.h"
#include "launcher/topology/topology.h"
#include "launcher/training.h"
#include "nlohmann/json_fwd.hpp"

namespace slipway::launcher {

// A number of ranks, and of threads in each.
struct Trial {
  int ranks = 1;
  int threads = 1;
  // What a run sets to do the same.
  std::string flags;
  PlacementRequest placement;
  // Measured: of all ranks together; 0 before, or if it failed.
  double samples_per_second = 0;
  // Why it could not be measured; empty if it could.
  std::string failure;
};

// One rank on the whole machine and on one package; then a rank a package, and
// twice as many as long as each keeps a core; each with all the cores of its
// ranks and, where those have four or more, with half of them.
std::vector<Trial> SensibleTrials(const Topology& machine);

// What all trials have in common.
struct CalibrationRequest {
  LaunchFlags flags;
  const Topology* machine = nullptr;
  const Training* training = nullptr;
  // Of the trainer: its program and arguments, and what a run would set for it.
  LaunchRequest launch;
};

// Trains, and fills in what was measured. The steps before the tenth from the
// end warm the trainer up and do not count. False if the user asked to stop.
bool Measure(const CalibrationRequest& request, Trial& trial);

// The fastest; null if none could be measured.
const Trial* Best(const std::vector<Trial>& trials);

// The seconds of one step: the median of the times between the last ten in a
// run's metrics.jsonl. 0 if there are fewer than four.
double SecondsPerStep(const std::string& metrics);

// A line each, with the fastest marked.
std::string FormatTrials(const std::vector<Trial>& trials);
// [{ranks, threads, samples_per_second|null, failure|null, flags}].
nlohmann::ordered_json ToJson(const std::vector<Trial>& trials);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_CALIBRATE_CALIBRATE_H_
