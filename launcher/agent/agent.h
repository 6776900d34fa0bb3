// The launcher's hand on another machine: measures it, and runs one rank there
// as the launcher itself would (LocalRanks: placement's mask, the reaper, the
// rendezvous port), obeying and reporting over a pipe.
//
//   launcher agent [FOLDER]   # what a Ray actor starts on its node
//
// The messages are those of ../ray_driver/messages.h from kFacts on:
//
//   kFacts     {version, host, boot_id, cwd, topology: as of `launcher topo`}
//   kMeet      {address, port: null|N, listen} -> kMeeting {port}|{error}
//   kManifest, kFile                           -> see files.h
//   kRun       {argv, set: {}, unset: [], user: ["NAME=value"], cpus: "0-3",
//              memory_nodes: [], bind: strict|best_effort|none, cwd,
//              takes_store, address: of this node, where there are several}
//              -> kStarted, kOut, ..., kExited
//   kSignal, kDescribe, kFinish
//
// When its input ends, because the launcher is done or because anybody between
// them has died, it kills the rank with all its descendants and ends. It
// decides nothing: that is the launcher's.
#ifndef SLIPWAY_LAUNCHER_AGENT_AGENT_H_
#define SLIPWAY_LAUNCHER_AGENT_AGENT_H_

#include <string>
#include <vector>

#include "launcher/environment/environment.h"

namespace slipway::launcher {

// Reads from `in` and writes to `out` until the end; returns the exit code.
// `folder`, if any, is where this program itself was put for the launch; it is
// removed once ranks are to run: a worker of Ray's that ends kills its
// children, so that the end may be too late. For the main thread of a process
// without other threads.
int RunAgent(int in, int out, const std::string& folder = "");

// A rank's environment on a node, as "NAME=value": `node`'s own without what
// Ray has put there; of the `user`'s at the launcher, what the node does not
// have, and all that begins with SLIPWAY_; then what the plan changes.
std::vector<std::string> EnvironmentOnNode(const std::vector<std::string>& node,
                                           const std::vector<std::string>& user,
                                           const EnvironmentPlan& plan);

// The network interface of this machine that has `address`; "" if none has.
std::string InterfaceOf(const std::string& address);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_AGENT_AGENT_H_
