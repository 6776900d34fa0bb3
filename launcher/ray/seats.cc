#include "launcher/ray/seats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace slipway::launcher {
namespace {

// How many seats fit on a node.
double Fitting(const RayNode& node, const Resources& resources) {
  double seats = HUGE_VAL;
  for (const auto& [name, amount] : resources) {
    const auto it = node.total.find(name);
    const double total = it == node.total.end() ? 0 : it->second;
    seats = std::min(seats, std::floor(total / amount + 1e-9));
  }
  return seats;
}

// Addresses by number, so that 10.0.0.9 comes before 10.0.0.10.
std::vector<int> Numbers(const std::string& address) {
  std::vector<int> numbers;
  for (absl::string_view part : absl::StrSplit(address, '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// Ray's own markers of nodes are nothing that one asks for.
bool IsOfUse(const std::string& resource) {
  return !absl::StartsWith(resource, "node:") && resource != "memory" &&
         resource != "object_store_memory";
}

Resources OfUse(const Resources& resources) {
  Resources kept;
  for (const auto& [name, amount] : resources) {
    if (IsOfUse(name)) kept[name] = amount;
  }
  return kept;
}

}  // namespace

absl::StatusOr<Resources> ParseResources(const std::string& text) {
  Resources resources;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> pair = absl::StrSplit(part, '=');
    double amount = 0;
    if (pair.size() != 2 || pair[0].empty() ||
        !absl::SimpleAtod(pair[1], &amount) || !(amount > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part, "\" is no resource"));
    }
    resources[pair[0]] = amount;
  }
  return resources;
}

std::string FormatResources(const Resources& resources) {
  return absl::StrJoin(
      resources, ",", [](std::string* out, const auto& resource) {
        absl::StrAppend(out, resource.first, "=", resource.second);
      });
}

std::string WhyNoRoom(const std::vector<RayNode>& nodes,
                      const SeatRequest& request) {
  double sum = 0, most = 0, nodes_with_room = 0;
  for (const RayNode& node : nodes) {
    const double fitting = Fitting(node, request.resources);
    sum += fitting;
    most = std::max(most, fitting);
    nodes_with_room += fitting >= 1 ? 1 : 0;
  }
  double granted = sum;
  std::string where = "";
  if (request.strategy == "strict_pack") {
    granted = most;
    where = " on one node";
  } else if (request.strategy == "strict_spread") {
    granted = nodes_with_room;
    where = ", each on a node of its own";
  }
  if (granted >= request.seats) return "";
  return absl::StrCat("the Ray cluster has no room for ", request.seats,
                      request.seats == 1 ? " rank" : " ranks", " of ",
                      FormatResources(request.resources), where, ": there is ",
                      "room for ", granted, " on\n", FormatNodes(nodes));
}

std::string FormatNodes(const std::vector<RayNode>& nodes) {
  std::string text;
  for (const RayNode& node : nodes) {
    absl::StrAppend(&text, "  ", node.address, " (", node.host,
                    "): ", FormatResources(OfUse(node.total)),
                    "; free: ", FormatResources(OfUse(node.available)), "\n");
  }
  return text;
}

std::vector<Host> GroupByHost(const std::vector<Seat>& seats) {
  std::vector<int> order(seats.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&seats](int a, int b) {
    const Seat& left = seats[static_cast<size_t>(a)];
    const Seat& right = seats[static_cast<size_t>(b)];
    return std::make_tuple(Numbers(left.address), left.address) <
           std::make_tuple(Numbers(right.address), right.address);
  });
  std::vector<Host> hosts;
  std::map<std::string, size_t> index;
  std::multiset<std::string> names;
  for (const int i : order) {
    const Seat& seat = seats[static_cast<size_t>(i)];
    const std::string key =
        absl::StrCat(seat.boot_id, " ", seat.topology.allowed_cpus.ToString());
    const auto [it, added] = index.emplace(key, hosts.size());
    if (added) {
      names.insert(seat.host);
      hosts.push_back({.name = seat.host,
                       .address = seat.address,
                       .topology = seat.topology});
    }
    hosts[it->second].seats.push_back(i);
    hosts[it->second].addresses.push_back(seat.address);
  }
  for (Host& host : hosts) {
    if (names.count(host.name) > 1) {
      host.name = absl::StrCat(host.name, " (", host.address, ")");
    }
  }
  return hosts;
}

}  // namespace slipway::launcher
