// All that a launch would do, decided before anything starts: which CPUs each
// rank gets, its environment, and which plugins run.
//
//   std::optional<LaunchPlan> plan = MakeLaunchPlan(request, problems);
//   if (!plan) return Refuse(problems);
//   std::cout << FormatLaunchPlan(*plan);
//
// A function from values to a value; the machine and the recipe come in as
// values too. It asks the machine only for the allocator's library and, for
// plugins, what CPU and devices it has.
#ifndef SLIPWAY_LAUNCHER_LAUNCH_PLAN_H_
#define SLIPWAY_LAUNCHER_LAUNCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "launcher/binding/binding.h"
#include "launcher/environment/environment.h"
#include "launcher/flags.h"
#include "launcher/placement/placement.h"
#include "launcher/topology/topology.h"
#include "launcher/training.h"
#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/plan.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

struct LaunchPlan {
  std::string host;
  Policy policy = Policy::kSpread;
  Placement placement;
  // What every rank's environment is made from.
  EnvironmentRequest environment;
  // Of the recipe; absent for programs other than the trainer.
  std::optional<plan::Plan> plugins;
  std::optional<BatchSize> batch;
  // Warnings and notes.
  Problems problems;

  int world_size() const { return static_cast<int>(placement.ranks.size()); }
};

// `training`: null for other programs. Nullopt, with all errors that were found
// appended, if there cannot be such a launch; warnings and notes are in the
// plan otherwise.
std::optional<LaunchPlan> MakeLaunchPlan(const LaunchFlags& flags,
                                         const Topology& machine,
                                         const Training* training,
                                         Problems& problems);

// For people: the ranks' table, what is unused and why, the effective batch,
// what is set for the ranks, the plugins.
std::string FormatLaunchPlan(const LaunchPlan& plan);

// `launcher plan --format=json`, as in the contracts, and beside it `batch`:
// {per_rank, accumulate, effective}, null where it is not known.
nlohmann::ordered_json ToJson(const LaunchPlan& plan);

// The same document for a launch that cannot be: problems and nothing else.
nlohmann::ordered_json RefusedPlan(const Problems& problems);

std::string_view Name(Policy policy);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_LAUNCH_PLAN_H_
