// What a cluster consists of, asked of its head without joining it: no driver
// is registered, so that nothing on it can come to harm.
//
//   Cluster cluster;
//   std::string error = ReadCluster("10.0.0.1", 6379, cluster);
#ifndef SLIPWAY_LAUNCHER_RAY_DRIVER_CLUSTER_NODES_H_
#define SLIPWAY_LAUNCHER_RAY_DRIVER_CLUSTER_NODES_H_

#include <string>
#include <vector>

namespace slipway {

struct ClusterNode {
  std::string id;  // hex
  std::string address;
  std::string host;
  std::string raylet_socket;
  std::string total;      // "CPU=2,GPU=1"
  std::string available;  // likewise
};

struct Cluster {
  std::string ray_version;         // of the head; "" if it does not say
  std::vector<ClusterNode> nodes;  // those that are alive
};

// Returns what went wrong, or "". The numbers of the fields are those of the
// one version of Ray that this is built with.
std::string ReadCluster(const std::string& ip, int port, Cluster& cluster);

}  // namespace slipway

#endif  // SLIPWAY_LAUNCHER_RAY_DRIVER_CLUSTER_NODES_H_
