// From the seats that a Ray cluster has granted to the ranks of a launch: pure.
//
//   std::string why = WhyNoRoom(nodes, request);   // "" where there is room
//   std::vector<Host> hosts = GroupByHost(seats);
//   hosts[0].seats;   // {3, 0}: rank 0 sits on seat 3, rank 1 on seat 0
//
// Ray knows nodes (a raylet each); placement knows machines. Seats of one
// machine share its cores by one plan, whichever raylet granted them, and get
// ranks one after the other. To the ranks a node is an address: containers of
// one machine do not reach each other at 127.0.0.1.
#ifndef SLIPWAY_LAUNCHER_RAY_SEATS_H_
#define SLIPWAY_LAUNCHER_RAY_SEATS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/topology/topology.h"

namespace slipway::launcher {

using Resources = std::map<std::string, double>;

// "CPU=2,GPU=1". INVALID_ARGUMENT quotes what is none.
absl::StatusOr<Resources> ParseResources(const std::string& text);
std::string FormatResources(const Resources& resources);

struct RayNode {
  std::string address;
  std::string host;
  std::string raylet_socket;
  Resources total;
  Resources available;
};

struct SeatRequest {
  int seats = 1;
  std::string strategy = "pack";  // as --ray_strategy has it
  Resources resources;            // of each
};

// What keeps a cluster that were empty from granting the request, with what it
// has and what was asked; "" if nothing does.
std::string WhyNoRoom(const std::vector<RayNode>& nodes,
                      const SeatRequest& request);

// A line for each node: its address and what of it is free.
std::string FormatNodes(const std::vector<RayNode>& nodes);

// A seat, once its agent has told where it is.
struct Seat {
  std::string address;  // of its node
  std::string host;     // the machine's name
  std::string boot_id;  // the same for all containers of a machine
  Topology topology;
};

struct Host {
  // The machine's name, with the address behind it where two have one name.
  std::string name;
  std::string address;  // of its first seat
  Topology topology;
  std::vector<int> seats;
  // Of each of them; those with one address follow each other.
  std::vector<std::string> addresses;
};

// One machine's seats are those with one boot id and the same allowed CPUs. In
// the order of addresses, by number.
std::vector<Host> GroupByHost(const std::vector<Seat>& seats);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_SEATS_H_
