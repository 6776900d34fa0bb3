// A Ray cluster of one node for one launch: a child of this process.
//
//   absl::StatusOr<std::unique_ptr<OwnCluster>> cluster = OwnCluster::Start(
//       {.home = ..., .cpus = 4, .log = "cluster.log"});
//   (*cluster)->address();        // "127.0.0.1:41234"
//   (*cluster)->environment();    // what a driver needs to be let in
//
// It listens on the loopback interface alone, and lets in only who has its
// token. When this object or this process is gone, however that came, its
// processes are killed; its folder for temporary files goes with the object, or
// with the next cluster that is started here.
#ifndef SLIPWAY_LAUNCHER_RAY_OWN_CLUSTER_H_
#define SLIPWAY_LAUNCHER_RAY_OWN_CLUSTER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/ray/address.h"
#include "launcher/ray/seats.h"
#include "launcher/supervisor/held_folder.h"
#include "launcher/supervisor/reaper.h"

namespace slipway::launcher {

struct OwnClusterRequest {
  // What PYTHONPATH must have for `python3 -m ray.scripts.scripts`.
  std::string home;
  // What the node shall offer: CPUs, and resources of the user's own names.
  Resources resources;
};

class OwnCluster {
 public:
  // Returns as soon as the head listens; its node joins a little later.
  // Forks; call it before any thread is started.
  static absl::StatusOr<std::unique_ptr<OwnCluster>> Start(
      const OwnClusterRequest& request);
  ~OwnCluster();
  OwnCluster(const OwnCluster&) = delete;
  OwnCluster& operator=(const OwnCluster&) = delete;

  const RayAddress& address() const { return address_; }
  // "NAME=value": this process's, and what lets a driver in.
  std::vector<std::string> environment() const;
  // Whether its head still listens.
  bool IsAlive() const { return CheckListens(address_).ok(); }

 private:
  OwnCluster() = default;

  absl::Status WaitUntilItListens();
  std::string LogFile() const { return folder_->path() + "/start.log"; }

  std::optional<HeldFolder> folder_;
  std::string token_;
  RayAddress address_;
  std::optional<Reaper> reaper_;
};

// The first of python3.11 and python3 on the path that is of the version that
// the wheels are for. NOT_FOUND says which there are.
absl::StatusOr<std::string> FindPython();

// What a program prints to its standard output; "" if it fails.
std::string OutputOf(const std::vector<std::string>& argv);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_OWN_CLUSTER_H_
