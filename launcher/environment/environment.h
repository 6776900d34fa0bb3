// The environment of each rank: a pure function of the launcher's own, the
// placement and the options.
//
//   EnvironmentPlan plan = RankEnvironment(request, rank);
//   std::vector<std::string> env = Apply(plan, CurrentEnvironment());
//
// It sets what torchrun sets (RANK, WORLD_SIZE, MASTER_ADDR, ...), a thread
// count from the rank's mask, and an allocator tuned for training; it removes
// inherited OpenMP binding, which would undo the mask. It is what BigDL-Nano's
// bigdl-nano-init sets, but per process and without sourcing anything.
#ifndef SLIPWAY_LAUNCHER_ENVIRONMENT_ENVIRONMENT_H_
#define SLIPWAY_LAUNCHER_ENVIRONMENT_ENVIRONMENT_H_

#include <map>
#include <string>
#include <vector>

#include "launcher/placement/placement.h"
#include "nlohmann/json_fwd.hpp"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

enum class Allocator {
  kTuned,     // glibc's, which keeps large blocks instead of returning them
  kGlibc,     // as it is
  kJemalloc,  // preloaded
  kTcmalloc,
};

struct EnvironmentRequest {
  Allocator allocator = Allocator::kTuned;
  // Shared library of jemalloc or tcmalloc; see FindAllocator.
  std::string allocator_library;
  int world_size = 1;
  int local_world_size = 1;
  int group_rank = 0;  // of the node
  int first_rank = 0;  // on the node
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  std::string plan_hash;  // "": not told
  int restart = 0;        // attempt, from 0
  bool auto_lr = true;
  // Ranks share cores (or hold more threads than CPUs): waiting threads sleep.
  bool shared_cores = false;
  // LD_PRELOAD of the user, kept behind ours. jemalloc and tcmalloc in it give
  // way to the allocator that is preloaded: there can be one.
  std::string user_preload;
};

struct EnvironmentPlan {
  std::map<std::string, std::string> set;
  std::vector<std::string> unset;
};

// `rank` is counted on its node. Without a master_port (0) MASTER_PORT is left
// out: it is not known yet.
EnvironmentPlan RankEnvironment(const EnvironmentRequest& request,
                                const RankPlacement& rank);

// What a shell sets before it starts a program by itself: `launcher env`. Of
// the request, the allocator and the user's preload count. Setting it twice
// changes nothing more.
EnvironmentPlan ShellEnvironment(const EnvironmentRequest& request,
                                 int threads);

// The path of an installed jemalloc or tcmalloc; "" with an error appended,
// naming the package, if there is none (or the allocator needs none: "" alone).
std::string FindAllocator(Allocator allocator, Problems& problems);

// "NAME=value" entries: `base` without what is unset, with what is set.
std::vector<std::string> Apply(const EnvironmentPlan& plan,
                               const std::vector<std::string>& base);

// This process's environment.
std::vector<std::string> CurrentEnvironment();

// Lines for a shell's `eval`, and the contracts' JSON.
std::string FormatForShell(const EnvironmentPlan& plan);
nlohmann::ordered_json ToJson(const EnvironmentPlan& plan);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_ENVIRONMENT_ENVIRONMENT_H_
