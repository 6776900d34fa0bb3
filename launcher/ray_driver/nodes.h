// Looks at the nodes of a cluster, before a C++ actor is sent to any of them: a
// node without Ray's C++ half would crash, and one that is not of this file
// system lacks the actor's library.
//
//   NodeCheck check = {.folder = "/tmp/slipway-x", .library = ..., ...};
//   std::map<std::string, std::string> answers = CheckNodes(nodes, check);
//   answers["10.0.0.2"];   // "same", "differs", or "error: ..."
//
// By a task in Python, which every node can run: ray-cpp has no other way to
// reach a node without harm.
#ifndef SLIPWAY_LAUNCHER_RAY_DRIVER_NODES_H_
#define SLIPWAY_LAUNCHER_RAY_DRIVER_NODES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/ray_driver/cluster_nodes.h"

namespace slipway {

struct NodeCheck {
  // Where the actor's library goes on every node; "": nowhere.
  std::string folder;
  std::string library;  // the file here
  // The launcher's program, which the node may have at the same path.
  std::string program;
  std::string program_sha256;
};

// Whether the node at an address is alive as far as the head knows.
using IsAlive = std::function<bool(const std::string& address)>;

// By address; without the nodes that have been lost meanwhile, of which the
// head may learn only now. Throws what Ray does for a node that does not
// answer.
std::map<std::string, std::string> CheckNodes(
    const std::vector<ClusterNode>& nodes, const NodeCheck& check,
    const IsAlive& is_alive);

// Removes the folder from every node, as far as they answer.
void RemoveFolder(const std::vector<ClusterNode>& nodes,
                  const std::string& folder);

}  // namespace slipway

#endif  // SLIPWAY_LAUNCHER_RAY_DRIVER_NODES_H_
