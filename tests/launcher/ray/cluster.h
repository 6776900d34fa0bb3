// A cluster for the tests of ranks under Ray: a real one, or one that stands in
// for it where only the launcher's side is tested. One serves all tests of a
// program.
#ifndef SLIPWAY_TESTS_LAUNCHER_RAY_CLUSTER_H_
#define SLIPWAY_TESTS_LAUNCHER_RAY_CLUSTER_H_

#include <map>
#include <string>
#include <vector>

#include "tests/launcher/launch_program.h"

namespace slipway {

// Defined by real_cluster.cc and by stand_in_cluster.cc.
std::string StartCluster();  // its HOST:PORT
void StopCluster();
// What the launcher needs in its environment for it.
std::map<std::string, std::string> ClusterEnvironment();

// The flags for a launch on it.
std::vector<std::string> RayFlags(const std::vector<std::string>& more = {});

// A launch there of `sh -c script`.
Launched RunOnRay(const std::vector<std::string>& flags,
                  const std::string& script,
                  const std::map<std::string, std::string>& environment = {});

// Processes of this machine whose command line has `text` in it.
std::vector<pid_t> ProcessesWith(const std::string& text);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCHER_RAY_CLUSTER_H_
