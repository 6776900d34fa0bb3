// One attempt on a Ray cluster, from the driver's start to the ranks': the
// conversation with the driver and the agents. Internal to ray_backend.cc.
#ifndef SLIPWAY_LAUNCHER_RAY_ATTEMPT_H_
#define SLIPWAY_LAUNCHER_RAY_ATTEMPT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/agent/files.h"
#include "launcher/launch.h"
#include "launcher/launch_plan.h"
#include "launcher/ray/connection.h"
#include "launcher/ray/ray_ranks.h"
#include "launcher/ray/seats.h"
#include "launcher/ray/shipment.h"
#include "launcher/supervisor/signals.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {

// What the nodes may lack of this launch.
struct Provision {
  // This program, which the agents are.
  std::string agent;
  // Look at the nodes: they are not of our own making.
  bool look = false;
  // Bring them what they lack.
  bool ship = false;
};

class RayAttempt {
 public:
  RayAttempt(std::unique_ptr<Connection> connection, std::ostream* console)
      : connection_(std::move(connection)), console_(*console) {}

  // What the cluster consists of, once it has a node. Refuses a driver or a
  // cluster of another version.
  absl::Status Greet();
  const std::vector<RayNode>& nodes() const { return nodes_; }

  // Asks for the seats, and starts an agent on each.
  absl::Status Reserve(const SeatRequest& request, const Provision& provision);
  // Once seats are reserved: what they are on.
  const std::vector<Host>& hosts() const { return hosts_; }

  // Opens the rendezvous on rank 0's node and tells every agent to run its
  // rank. The conversation is the ranks' from then on.
  absl::StatusOr<std::unique_ptr<Ranks>> Run(const LaunchRequest& request,
                                             int attempt,
                                             const LaunchPlan& plan);

 private:
  // A file on its way to a node: by the actor, or by the agent.
  struct Outgoing {
    int seat = 0;
    bool by_agent = false;
    std::string from;
    std::string to;
    int mode = 0644;
  };

  using Taker = std::function<absl::Status(const messages::Message&)>;

  // Takes messages until `done`; an error of `take`, of a lost seat, of a
  // driver that ends, of the user who asks to stop, or of time.
  absl::Status Converse(const std::function<bool()>& done, const Taker& take,
                        absl::Duration patience, const std::string& what);
  absl::Status Place(const SeatRequest& request);
  absl::Status StartAgents();
  absl::Status Facts(const messages::Message& message, int& missing);
  // Sends all of them, as the pipe has room.
  absl::Status Pump(const std::vector<Outgoing>& files,
                    const std::string& what);
  // The program and its files, to each machine that lacks them.
  absl::Status Ship(const LaunchRequest& request);
  absl::StatusOr<std::string> ShipTo(int seat, std::vector<FileSum>& files);
  absl::StatusOr<nlohmann::json> Compare(int seat,
                                         const std::vector<FileSum>& files,
                                         Comparison how);
  std::string AgentFolder(int seat) const;
  nlohmann::json RunMessage(const LaunchRequest& request, int attempt,
                            const LaunchPlan& plan, int port, int rank) const;
  absl::StatusOr<int> Meet(const LaunchRequest& request,
                           const LaunchPlan& plan);
  int SeatOf(int rank) const;

  std::unique_ptr<Connection> connection_;
  std::ostream& console_;
  std::string cluster_version_;
  std::string driver_version_;
  std::vector<RayNode> nodes_;
  std::vector<Seat> seats_;
  std::vector<Host> hosts_;
  Provision provision_;
  // For what nodes lack to run an agent; "": they lack nothing.
  std::string folder_;
  // By seat: its raylet's socket, and whether it has this program already.
  std::vector<std::string> sockets_;
  std::vector<bool> has_agent_;
  // Beneath which a seat's machine has the program; "": where it is here.
  std::vector<std::string> roots_;
  Shipment shipment_;
  ForwardedSignals signals_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_ATTEMPT_H_
