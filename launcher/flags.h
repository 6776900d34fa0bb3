// The launcher's command line.
//
//   Problems problems;
//   const LaunchFlags flags = ParseLaunchFlags(
//       {"plan", "--num_processes=4", "--", "--recipe=digits_resnet"},
//       problems);
//   flags.command;   // Command::kPlan
//   flags.rest;      // {"--recipe=digits_resnet"}
//
// The arguments are split at the first `--` before any flag is read: what
// follows belongs to the program that is launched. Values only; the flags are
// documented by their help texts in flags.cc.
#ifndef SLIPWAY_LAUNCHER_FLAGS_H_
#define SLIPWAY_LAUNCHER_FLAGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/binding/binding.h"
#include "launcher/environment/environment.h"
#include "launcher/placement/placement.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

enum class Command { kRun, kPlan, kTopo, kEnv };

// --num_processes, which may depend on the recipe and on the machine.
struct ProcessCount {
  enum class From { kDefault, kNumber, kAuto, kRecipe };
  From from = From::kDefault;
  int number = 1;  // kNumber
};

struct LaunchFlags {
  Command command = Command::kRun;
  bool help = false;
  bool json = false;  // --format=json

  ProcessCount processes;
  // All of it but num_processes, which ProcessCount has.
  PlacementRequest placement;
  std::string topology;  // empty: this machine
  BindMode bind = BindMode::kStrict;
  Allocator allocator = Allocator::kTuned;
  bool auto_lr = true;
  bool calibrate = false;

  bool ray = false;         // --backend=ray
  std::string ray_address;  // empty: a cluster of the launch's own
  std::string ray_strategy = "pack";
  // What each rank asks of the cluster: amounts by name.
  std::map<std::string, double> ray_resources = {{"CPU", 1}};
  bool no_ship = false;

  absl::Duration grace = absl::Seconds(10);
  int max_restarts = 0;
  absl::Duration heartbeat_timeout = absl::ZeroDuration();
  std::string master_addr = "127.0.0.1";
  std::string log_dir;  // empty: DefaultLogDir
  bool tee = true;
  // Which ranks the console shows; nullopt: all.
  std::optional<std::vector<int>> log_ranks;
  std::string prefix = "[{rank}] ";

  // What follows the first `--`.
  std::vector<std::string> rest;
};

// Appends a problem for everything that is wrong.
LaunchFlags ParseLaunchFlags(const std::vector<std::string>& arguments,
                             Problems& problems);

// How to call the launcher, with examples, and a line per flag.
std::string LaunchFlagsHelp();

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_FLAGS_H_
