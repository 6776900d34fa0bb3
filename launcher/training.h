// What a launch must know of the trainer's command line: its recipe and plan.
//
//   std::optional<Training> training =
//       ReadTraining({"--recipe=digits_resnet"}, here, problems);
//   std::optional<plan::Plan> plan =
//       PlanPlugins(*training, {.world_size = 4}, problems);
//
// Everything that the trainer would refuse about its command line, its recipe
// or its plan is found here, before any process is started. Reads files; holds
// no state.
#ifndef SLIPWAY_LAUNCHER_TRAINING_H_
#define SLIPWAY_LAUNCHER_TRAINING_H_

#include <optional>
#include <string>
#include <vector>

#include "trainer/find_plugins.h"
#include "trainer/flags.h"
#include "trainer/locations.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

// How many samples an optimizer step takes.
struct BatchSize {
  int64_t per_rank = 0;  // of one forward pass
  int64_t accumulate = 1;

  int64_t Effective(int ranks) const { return per_rank * accumulate * ranks; }
};

struct Training {
  slipway::Flags flags;
  recipe::Composed composed;
  PluginManifests plugins;
  // What num_gpus asks for: 1 for none, 0 for one per device.
  int processes_asked = 1;
  // Absent if the recipe does not say.
  std::optional<BatchSize> batch;
};

// Nullopt if and only if an error was appended. --help and --print_recipe are
// errors: they start nothing, and the trainer itself answers them.
std::optional<Training> ReadTraining(const std::vector<std::string>& arguments,
                                     const Locations& here, Problems& problems);

struct RanksToPlan {
  int world_size = 1;
  bool auto_lr = false;
};

// The plan that each of the ranks will resolve as well. Nullopt as above.
std::optional<plan::Plan> PlanPlugins(const Training& training,
                                      const RanksToPlan& ranks,
                                      Problems& problems);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_TRAINING_H_
