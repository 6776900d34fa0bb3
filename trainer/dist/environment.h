// Which of how many processes this one is, from the variables that launchers
// set: torchrun's names, and Slipway's own beside them.
//
//   Problems problems;
//   const dist::Environment here = dist::ReadEnvironment(problems);
//   if (HasErrors(problems)) return Refuse(problems);
//   if (here.world_size > 1) ...
//
//   RANK, WORLD_SIZE             this process among all
//   LOCAL_RANK, LOCAL_WORLD_SIZE this process among those of its machine
//   MASTER_ADDR, MASTER_PORT     where rank 0 can be reached
//   SLIPWAY_STORE_FD             a listening socket that rank 0 takes over
//                                instead of opening MASTER_PORT
//   SLIPWAY_HEARTBEAT_FD         gets one byte a step
//   SLIPWAY_PLAN_HASH            of the plan that the launcher has shown
//   SLIPWAY_RESTART              how often this training has been restarted
//   SLIPWAY_PEER_TIMEOUT         how long one operation waits for the others
//   GLOO_SOCKET_IFNAME           the network interfaces between machines
//   TORCHELASTIC_USE_AGENT_STORE torchrun itself serves at MASTER_PORT
//   TORCHELASTIC_RESTART_COUNT   its SLIPWAY_RESTART
//
// Without WORLD_SIZE a process is alone, and needs none of them. No LibTorch.
#ifndef SLIPWAY_TRAINER_DIST_ENVIRONMENT_H_
#define SLIPWAY_TRAINER_DIST_ENVIRONMENT_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/recipe/problem.h"

namespace slipway::dist {

struct Environment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  std::optional<int> store_fd = {};  // rank 0's only
  std::optional<int> heartbeat_fd = {};
  std::string plan_hash = {};  // empty: nobody has shown a plan
  int restart = 0;
  // A collective operation that takes longer fails.
  std::chrono::milliseconds peer_timeout = std::chrono::minutes(30);
  std::string network_interfaces = {};  // empty: chosen by the address
  // The store is the launcher's: no rank serves it.
  bool agent_store = false;
};

// A variable's value, or null.
using GetVariable = std::function<const char*(const char* name)>;

// Reads this process's variables, or those that `get` gives. Every variable
// that is missing, or makes no sense with the others, is a problem of its own;
// the result then is that of a process alone.
Environment ReadEnvironment(Problems& problems);
Environment ReadEnvironment(const GetVariable& get, Problems& problems);

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_ENVIRONMENT_H_
