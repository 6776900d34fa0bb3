#include "launcher/ray/attempt.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "launcher/agent/body.h"
#include "launcher/backend.h"
#include "launcher/environment/environment.h"
#include "launcher/placement/placement.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using messages::Message;
using messages::Type;
using nlohmann::json;

// A node of a cluster that has just been started joins its head a little later.
constexpr absl::Duration kNodePatience = absl::Seconds(30);
// A seat that others have taken may become free.
constexpr int kRoomSeconds = 30;
// A worker of Ray's starts in a second or two, on a busy machine in ten.
constexpr absl::Duration kWorkerPatience = absl::Seconds(60);
constexpr absl::Duration kAgentPatience = absl::Seconds(30);
// Some hundred megabytes, on a slow network.
constexpr absl::Duration kShippingPatience = absl::Minutes(10);
// After which people are told what is waited for.
constexpr absl::Duration kSoon = absl::Seconds(3);

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

Resources ResourcesFrom(const std::string& text) {
  absl::StatusOr<Resources> resources = ParseResources(text);
  return resources.ok() ? *std::move(resources) : Resources();
}

absl::StatusOr<RayNode> NodeFrom(const std::string& body) {
  std::vector<std::string> parts;
  if (!messages::Split(body, parts) || parts.size() != 6) {
    return absl::InternalError("the Ray driver describes no node");
  }
  return RayNode{.address = parts[1],
                 .host = parts[2],
                 .raylet_socket = parts[3],
                 .total = ResourcesFrom(parts[4]),
                 .available = ResourcesFrom(parts[5])};
}

}  // namespace

absl::Status RayAttempt::Converse(const std::function<bool()>& done,
                                  const Taker& take, absl::Duration patience,
                                  const std::string& what) {
  const absl::Time start = absl::Now();
  bool told = false;
  while (!done()) {
    const absl::Duration waited = absl::Now() - start;
    if (waited > patience) {
      return absl::DeadlineExceededError(absl::StrCat(
          what, " took longer than ", absl::FormatDuration(patience)));
    }
    if (waited > kSoon && !std::exchange(told, true)) {
      console_ << "waiting for " << what << " ...\n" << std::flush;
    }
    std::vector<pollfd> fds = connection_->Watched();
    fds.push_back({signals_.fd(), POLLIN, 0});
    poll(fds.data(), fds.size(), 100);
    while (const std::optional<int> signal = signals_.Next()) {
      if (*signal == SIGINT || *signal == SIGTERM) {
        return absl::CancelledError(
            absl::StrCat("stopped while waiting for ", what));
      }
    }
    for (const Message& message : connection_->Take()) {
      if (message.type == Type::kRefused || message.type == Type::kLost ||
          message.type == Type::kEnded) {
        return absl::UnavailableError(
            absl::StrCat(what, " failed: ", message.body));
      }
      const absl::Status status = take(message);
      if (!status.ok()) return status;
    }
    if (connection_->gone() && !done()) {
      return absl::UnavailableError(absl::StrCat(
          what,
          " failed: the Ray driver has ended: ", connection_->LastWords()));
    }
  }
  return absl::OkStatus();
}

absl::Status RayAttempt::Greet() {
  bool described = false;
  const auto take = [&](const Message& message) -> absl::Status {
    std::vector<std::string> parts;
    if (message.type == Type::kHello) {
      if (!messages::Split(message.body, parts) || parts.size() != 2 ||
          parts[0] != messages::kVersion) {
        return absl::FailedPreconditionError(
            "the Ray driver is of another version of Slipway; build it again: "
            "./bazelw build //launcher/ray_driver");
      }
      driver_version_ = parts[1];
    }
    if (message.type != Type::kCluster) return absl::OkStatus();
    if (!messages::Split(message.body, parts) || parts.empty()) {
      return absl::InternalError("the Ray driver describes no cluster");
    }
    described = true;
    cluster_version_ = parts[0];
    nodes_.clear();
    for (size_t i = 1; i < parts.size(); ++i) {
      absl::StatusOr<RayNode> node = NodeFrom(parts[i]);
      if (!node.ok()) return node.status();
      nodes_.push_back(*std::move(node));
    }
    return absl::OkStatus();
  };
  const absl::Status status =
      Converse([&] { return described; }, take, kNodePatience,
               "the Ray cluster's answer");
  if (!status.ok()) return status;
  if (cluster_version_ != driver_version_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the cluster runs Ray ", cluster_version_,
        ", and the Ray driver was built with ", driver_version_,
        "; they must be the same: pip install ray==", driver_version_,
        " ray-cpp==", driver_version_, " on the nodes"));
  }
  return absl::OkStatus();
}

absl::Status RayAttempt::Reserve(const SeatRequest& request,
                                 const Provision& provision) {
  const std::string why = WhyNoRoom(nodes_, request);
  if (!why.empty()) return absl::ResourceExhaustedError(why);
  provision_ = provision;
  if (provision.look && provision.ship) {
    folder_ = absl::StrCat("/tmp/slipway-agents-", RandomName());
  }
  absl::Status status = Place(request);
  if (!status.ok()) return status;
  status = StartAgents();
  if (!status.ok()) return status;
  hosts_ = GroupByHost(seats_);
  return absl::OkStatus();
}

absl::Status RayAttempt::Place(const SeatRequest& request) {
  const auto seats = static_cast<size_t>(request.seats);
  seats_.assign(seats, {});
  sockets_.assign(seats, "");
  has_agent_.assign(seats, true);
  roots_.assign(seats, "");
  std::string sum;
  if (!folder_.empty()) {
    const absl::StatusOr<FileSum> program = SumOf(provision_.agent);
    if (!program.ok()) return program.status();
    sum = program->sha256;
  }
  connection_->Send(
      {Type::kPlace, -1,
       messages::Join(
           {request.strategy, absl::StrCat(request.seats),
            absl::StrCat(kRoomSeconds), FormatResources(request.resources),
            provision_.look ? "look" : "", folder_, provision_.agent, sum})});
  int missing = request.seats;
  const auto take = [&](const Message& message) {
    std::vector<std::string> parts;
    const auto seat = static_cast<size_t>(message.seat);
    if (message.type == Type::kPlaced && messages::Split(message.body, parts) &&
        parts.size() == 4 && seat < seats_.size()) {
      seats_[seat].address = parts[0];
      sockets_[seat] = absl::StrCat(parts[0], " ", parts[1]);
      has_agent_[seat] = folder_.empty() || parts[3] == "same";
      --missing;
    }
    return absl::OkStatus();
  };
  const absl::Status status =
      Converse([&] { return missing == 0; }, take,
               absl::Seconds(kRoomSeconds) + kWorkerPatience,
               absl::StrCat("room for ", request.seats, " of ",
                            FormatResources(request.resources), " (",
                            request.strategy, ") on the Ray cluster"));
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "; its nodes:\n", FormatNodes(nodes_)));
}

// Where the first seat of a node has put the launcher for all of them.
std::string RayAttempt::AgentFolder(int seat) const {
  const std::string& socket = sockets_[static_cast<size_t>(seat)];
  const auto first = std::find(sockets_.begin(), sockets_.end(), socket);
  return absl::StrCat(folder_, "/", first - sockets_.begin());
}

absl::Status RayAttempt::StartAgents() {
  std::vector<Outgoing> files;
  std::set<std::string> provided;
  for (int seat = 0; seat < static_cast<int>(seats_.size()); ++seat) {
    const std::string folder = AgentFolder(seat);
    if (has_agent_[static_cast<size_t>(seat)] ||
        !provided.insert(folder).second) {
      continue;
    }
    files.push_back({.seat = seat,
                     .from = provision_.agent,
                     .to = folder + "/launcher",
                     .mode = 0700});
    for (const std::string& library : OwnLibraries()) {
      const std::string name = std::filesystem::path(library).filename();
      files.push_back({.seat = seat,
                       .from = library,
                       .to = absl::StrCat(folder, "/lib/", name)});
    }
  }
  absl::Status status = Pump(files, "the launcher's way to the nodes");
  if (!status.ok()) return status;
  for (int seat = 0; seat < static_cast<int>(seats_.size()); ++seat) {
    const std::string folder = AgentFolder(seat);
    std::vector<std::string> start = {provision_.agent, "agent", folder_};
    if (folder_.empty()) start.pop_back();
    if (!has_agent_[static_cast<size_t>(seat)]) {
      start = {folder + "/launcher", "agent", folder_, "",
               absl::StrCat("LD_LIBRARY_PATH=", folder, "/lib")};
    }
    connection_->Send({Type::kStart, seat, messages::Join(start)});
  }
  int missing = static_cast<int>(seats_.size());
  return Converse(
      [&] { return missing == 0; },
      [&](const Message& message) { return Facts(message, missing); },
      kAgentPatience, "an agent on every node");
}

absl::Status RayAttempt::Pump(const std::vector<Outgoing>& files,
                              const std::string& what) {
  size_t next = 0;
  std::ifstream file;
  bool open = false;
  absl::Status status;
  // True when all has been handed to the pipe.
  const auto send = [&] {
    while (next < files.size() && connection_->HasRoom() && status.ok()) {
      const Outgoing& one = files[next];
      const bool begins = !std::exchange(open, true);
      if (begins) file = std::ifstream(one.from, std::ios::binary);
      std::string piece(messages::kMaxPiece - (1 << 10), '\0');
      file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      piece.resize(static_cast<size_t>(file.gcount()));
      if (begins || !piece.empty()) {
        const std::string body =
            messages::Join({one.to, absl::StrFormat("%o", one.mode),
                            begins ? "new" : "more", piece});
        if (one.by_agent) {
          connection_->Tell(one.seat, Type::kFile, body);
        } else {
          connection_->Send({Type::kPut, one.seat, body});
        }
      }
      if (file.good()) continue;
      open = false;
      ++next;
    }
    return next == files.size();
  };
  return Converse(
      send, [](const Message&) { return absl::OkStatus(); }, kShippingPatience,
      what);
}

absl::StatusOr<json> RayAttempt::Compare(int seat,
                                         const std::vector<FileSum>& files,
                                         Comparison how) {
  connection_->Tell(seat, Type::kManifest, ManifestOf(files, how));
  json answer;
  const absl::Status status =
      Converse([&] { return !answer.is_null(); },
               [&](const Message& message) -> absl::Status {
                 if (message.type != Type::kUnpacked) return absl::OkStatus();
                 answer = json::parse(message.body, nullptr, false);
                 if (!answer.contains("error")) return absl::OkStatus();
                 return absl::UnavailableError(absl::StrCat(
                     "on ", seats_[static_cast<size_t>(seat)].address, ": ",
                     answer["error"].get<std::string>()));
               },
               kShippingPatience, "a comparison of the program's files");
  if (!status.ok()) return status;
  return answer;
}

// The checksums are taken once they are needed.
absl::StatusOr<std::string> RayAttempt::ShipTo(int seat,
                                               std::vector<FileSum>& files) {
  absl::StatusOr<json> answer = Compare(seat, files, Comparison::kInode);
  if (!answer.ok()) return answer.status();
  if (!(*answer)["root"].is_null()) return std::string();
  for (FileSum& file : files) {
    if (!file.sha256.empty()) continue;
    absl::StatusOr<FileSum> sum = SumOf(file.path);
    if (!sum.ok()) return sum.status();
    file = *std::move(sum);
  }
  answer = Compare(seat, files, Comparison::kContent);
  if (!answer.ok()) return answer.status();
  const std::string root = (*answer)["root"];
  if (root.empty()) return root;
  std::vector<Outgoing> outgoing;
  for (const FileSum& file : files) {
    outgoing.push_back({.seat = seat,
                        .by_agent = true,
                        .from = file.path,
                        .to = file.path,
                        .mode = file.mode});
  }
  const absl::Status status = Pump(outgoing, "the program's way to the nodes");
  if (!status.ok()) return status;
  answer = Compare(seat, files, Comparison::kUnpacked);
  if (!answer.ok()) return answer.status();
  return root;
}

absl::Status RayAttempt::Ship(const LaunchRequest& request) {
  if (!provision_.look || !provision_.ship) return absl::OkStatus();
  shipment_ = FindShipment(request.argv, request.folders);
  std::vector<FileSum> files;
  for (const std::string& path : shipment_.files) {
    absl::StatusOr<FileSum> stat = StatOf(path);
    if (!stat.ok()) return stat.status();
    files.push_back(*std::move(stat));
  }
  std::map<std::string, std::string> root_of;
  for (size_t seat = 0; seat < seats_.size(); ++seat) {
    if (root_of.count(sockets_[seat]) == 0) {
      absl::StatusOr<std::string> root = ShipTo(static_cast<int>(seat), files);
      if (!root.ok()) return root.status();
      root_of[sockets_[seat]] = *std::move(root);
    }
    roots_[seat] = root_of[sockets_[seat]];
  }
  return absl::OkStatus();
}

absl::Status RayAttempt::Facts(const Message& message, int& missing) {
  if (message.type != Type::kFacts) return absl::OkStatus();
  const json facts = json::parse(message.body, nullptr, false);
  Seat& seat = seats_[static_cast<size_t>(message.seat)];
  if (!facts.is_object() || facts.value("version", "") != messages::kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the launcher on node ", seat.address,
                     " is of another version than this one"));
  }
  if (!facts.contains("topology")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", seat.address, ": ", facts.value("error", "no topology")));
  }
  absl::StatusOr<Topology> topology = TopologyFromJson(facts["topology"]);
  if (!topology.ok()) return topology.status();
  seat.host = facts.value("host", "");
  seat.boot_id = facts.value("boot_id", "");
  seat.topology = *std::move(topology);
  --missing;
  return absl::OkStatus();
}

int RayAttempt::SeatOf(int rank) const {
  auto host = hosts_.begin();
  for (; static_cast<size_t>(rank) >= host->seats.size(); ++host) {
    rank -= static_cast<int>(host->seats.size());
  }
  return host->seats[static_cast<size_t>(rank)];
}

absl::StatusOr<int> RayAttempt::Meet(const LaunchRequest& request,
                                     const LaunchPlan& plan) {
  const json where = {
      {"address", plan.nodes[0].environment.master_addr},
      {"port", request.master_port ? json(*request.master_port) : json()},
      {"listen", request.takes_store}};
  connection_->Tell(SeatOf(0), Type::kMeet, DumpBody(where));
  int port = 0;
  const absl::Status status =
      Converse([&] { return port != 0; },
               [&](const Message& message) -> absl::Status {
                 if (message.type != Type::kMeeting) return absl::OkStatus();
                 const json meeting = json::parse(message.body, nullptr, false);
                 if (meeting.contains("error")) {
                   return absl::UnavailableError(
                       absl::StrCat("on ", plan.nodes[0].host, ": ",
                                    meeting["error"].get<std::string>()));
                 }
                 port = meeting.value("port", 0);
                 return absl::OkStatus();
               },
               kAgentPatience, "the rendezvous on rank 0's node");
  if (!status.ok()) return status;
  return port;
}

json RayAttempt::RunMessage(const LaunchRequest& request, int attempt,
                            const LaunchPlan& plan, int port, int rank) const {
  const RankPlacement& placement = plan.PlacementOf(rank);
  EnvironmentRequest common = plan.NodeOf(rank).environment;
  common.master_port = port;
  common.restart = attempt;
  EnvironmentPlan environment = RankEnvironment(common, placement);
  for (const auto& [name, value] : request.variables) {
    environment.set[name] = value;
  }
  const auto seat = static_cast<size_t>(SeatOf(rank));
  const std::string& root = roots_[seat];
  std::vector<std::string> argv = CommandLine(request, attempt);
  if (!root.empty()) {
    argv = Moved(argv, shipment_, root);
    const char* inherited = std::getenv("RUNFILES_DIR");
    std::string& runfiles = environment.set["RUNFILES_DIR"];
    if (runfiles.empty() && inherited != nullptr) runfiles = inherited;
    runfiles = root + runfiles;
  }
  std::error_code error;
  return {{"argv", argv},
          {"set", environment.set},
          {"unset", environment.unset},
          {"user", CurrentEnvironment()},
          {"cpus", placement.cpus.ToString()},
          {"memory_nodes", placement.memory_nodes},
          {"bind", ToString(request.supervision.bind)},
          {"cwd", std::filesystem::current_path(error).string()},
          {"takes_store", request.takes_store && rank == 0},
          {"address", plan.nodes.size() > 1 ? seats_[seat].address : ""}};
}

absl::StatusOr<std::unique_ptr<Ranks>> RayAttempt::Run(
    const LaunchRequest& request, int attempt, const LaunchPlan& plan) {
  const absl::Status shipped = Ship(request);
  if (!shipped.ok()) return shipped;
  const absl::StatusOr<int> port = Meet(request, plan);
  if (!port.ok()) return port.status();
  std::vector<RankSeat> ranks;
  for (int rank = 0; rank < plan.world_size(); ++rank) {
    const RankPlacement& placement = plan.PlacementOf(rank);
    const int seat = SeatOf(rank);
    connection_->Tell(
        seat, Type::kRun,
        DumpBody(RunMessage(request, attempt, plan, *port, rank)));
    ranks.push_back(
        {.seat = seat,
         .node = absl::StrCat(plan.NodeOf(rank).host, " (",
                              seats_[static_cast<size_t>(seat)].address, ")"),
         .binding = Binding(placement.cpus, placement.memory_nodes)});
  }
  return std::make_unique<RayRanks>(std::move(connection_), std::move(ranks));
}

}  // namespace slipway::launcher
