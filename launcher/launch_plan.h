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

#include <map>
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

// A machine on which ranks shall run.
struct NodeMachine {
  std::string host;
  Topology topology;
  // How many run there; absent: as the flags and the machine say.
  std::optional<int> ranks;
};

struct NodePlan {
  std::string host;
  // Ranks are counted on the node, from 0.
  Placement placement;
  // What the environment of every rank on it is made from.
  EnvironmentRequest environment;
};

// What a cluster is asked for: a bundle for each rank.
struct Bundles {
  std::string strategy;
  std::map<std::string, double> resources;  // of each
};

struct LaunchPlan {
  std::string backend = "subprocess";
  std::optional<Bundles> bundles;
  Policy policy = Policy::kSpread;
  // Ranks are numbered by node, in this order.
  std::vector<NodePlan> nodes;
  // Of the recipe; absent for programs other than the trainer.
  std::optional<plan::Plan> plugins;
  std::optional<BatchSize> batch;
  // Warnings and notes.
  Problems problems;

  int world_size() const;
  // Of a rank of the whole launch: on which node it is, and as which.
  const NodePlan& NodeOf(int rank) const;
  const RankPlacement& PlacementOf(int rank) const;
};

// `training`: null for other programs. Nullopt, with all errors that were found
// appended, if there cannot be such a launch; warnings and notes are in the
// plan otherwise. CPU lists of the flags count on each node anew: its ranks get
// the first ones.
std::optional<LaunchPlan> MakeLaunchPlan(
    const LaunchFlags& flags, const std::vector<NodeMachine>& machines,
    const Training* training, Problems& problems);

// On this machine alone.
std::optional<LaunchPlan> MakeLaunchPlan(const LaunchFlags& flags,
                                         const Topology& machine,
                                         const Training* training,
                                         Problems& problems);

// How many ranks the flags ask for; 0: as many as the machine suggests. `gpus`:
// what a recipe gets that asks for all of them.
int ProcessesAsked(const LaunchFlags& flags, const Training* training, int gpus,
                   Problems& problems);

// For people: the ranks' table, what is unused and why, the effective batch,
// what is set for the ranks, the plugins.
std::string FormatLaunchPlan(const LaunchPlan& plan);

// `launcher plan --format=json`, as in the contracts, and beside it `batch`:
// {per_rank, accumulate, effective}, null where it is not known, and `bundles`:
// {strategy, resources}, null without a cluster.
nlohmann::ordered_json ToJson(const LaunchPlan& plan);

// The same document for a launch that cannot be: problems and nothing else.
nlohmann::ordered_json RefusedPlan(const Problems& problems);

std::string_view Name(Policy policy);

// This machine's name.
std::string HostName();

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_LAUNCH_PLAN_H_
