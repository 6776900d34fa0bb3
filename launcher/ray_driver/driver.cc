// Brings agents to the nodes of a Ray cluster, and bytes to and from them. The
// launcher starts it and speaks to it over pipes: see messages.h. It decides
// nothing; it ends when its standard input does.
//
//   ray_driver --address=10.0.0.1:6379      as the launcher starts it
//   ray_driver --home                       prints where its Ray lies
//
// ray-cpp ends the process on many errors, which is why this is one of its own.
// What is avoided here, since it is known to fail: the move constructor of
// ray::ObjectRef, which forgets the object's owner (an ObjectRef is const here,
// so that it can only be copied); replies above 100 KB; ray::Init with an
// address at which nobody listens. Any exception of an actor's call means that
// its seat is lost: Ray throws different ones, some by accident.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "launcher/ray_driver/agent_actor.h"
#include "launcher/ray_driver/cluster_nodes.h"
#include "launcher/ray_driver/messages.h"
#include "launcher/ray_driver/nodes.h"
#include "launcher/ray_driver/pipe.h"
#include "ray_home.h"

namespace slipway {
namespace {

using messages::Join;
using messages::Message;
using messages::Type;

// Of one long poll of an agent's output.
constexpr int kReadMilliseconds = 1000;
// How long a command of the launcher's waits while output is awaited.
constexpr int kTurnMilliseconds = 10;
// For an actor's answer; a first one starts its worker.
constexpr int kStartMilliseconds = 60000;
constexpr int kCallMilliseconds = 10000;

struct Address {
  std::string ip;
  int port = 0;
};

Address ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, 0};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

// Whether somebody listens there, within a second.
bool Answers(const Address& address) {
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(address.port));
  if (inet_pton(AF_INET, address.ip.c_str(), &where.sin_addr) != 1) return true;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = 0;
  if (connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof(where)) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    pollfd ready = {fd, POLLOUT, 0};
    socklen_t size = sizeof(error);
    if (poll(&ready, 1, 1000) != 1 ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = ETIMEDOUT;
    }
  }
  close(fd);
  return error == 0;
}

// Ray itself notices after a minute that its head is gone.
void WatchHead(const Address& address, LauncherPipe& launcher) {
  for (int missed = 0;; missed = Answers(address) ? 0 : missed + 1) {
    if (missed == 3) launcher.Send(Type::kHeadLost, -1, "");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// The printable text of an exception of Ray's: what() may be a protobuf
// message, and the message proper lies in a member.
std::string TextOf(const std::exception& error) {
  std::string text = error.what();
  if (const auto* own =
          dynamic_cast<const ray::internal::RayException*>(&error);
      own != nullptr) {
    text = own->msg_;
  }
  std::string printable;
  for (const char c : text) {
    if (c >= 32 && c < 127) printable += c;
    if (c == '\n') printable += ' ';
  }
  return printable.substr(0, 600);
}

class Seat {
 public:
  explicit Seat(ray::ActorHandle<AgentActor> actor) : actor_(actor) {}

  ray::ActorHandle<AgentActor>& actor() { return actor_; }
  bool open() const { return read_ != nullptr; }
  const ray::ObjectRef<Piece>& read() const { return *read_; }
  void ReadOn() {
    // Copies: see the top of this file.
    const ray::ObjectRef<Piece> next =
        actor_.Task(&AgentActor::Read).Remote(int{kReadMilliseconds});
    read_ = std::make_unique<const ray::ObjectRef<Piece>>(next);
  }
  void Close() { read_.reset(); }

 private:
  ray::ActorHandle<AgentActor> actor_;
  std::unique_ptr<const ray::ObjectRef<Piece>> read_;
};

class Driver {
 public:
  Driver(std::string address, std::string library,
         std::vector<ClusterNode> nodes, LauncherPipe& launcher)
      : address_(std::move(address)),
        library_(std::move(library)),
        nodes_(std::move(nodes)),
        launcher_(launcher) {}

  // All that Ray has of ours ends before ray::Shutdown does.
  void Run() {
    Message message;
    for (bool last = false; !last;) {
      // What was sent before the pipe was closed is still done.
      last = launcher_.closed();
      while (launcher_.Next(message, open_seats() || last ? 0 : 100)) {
        Do(message);
      }
      if (open_seats()) TakeOutput();
    }
    End();
  }

 private:
  bool open_seats() const {
    return std::any_of(seats_.begin(), seats_.end(),
                       [](const Seat& seat) { return seat.open(); });
  }

  void Do(const Message& message) {
    if (message.type == Type::kPlace) {
      std::vector<std::string> parts;
      if (messages::Split(message.body, parts) && parts.size() == 8) {
        return Place(parts);
      }
      return launcher_.Send(Type::kRefused, -1, "a request that is none");
    }
    const auto index = static_cast<size_t>(message.seat);
    if (message.seat < 0 || index >= seats_.size()) return;
    try {
      DoOnSeat(message, seats_[index]);
    } catch (const std::exception& error) {
      Lose(message.seat, TextOf(error));
    }
  }

  static ray::PlacementStrategy StrategyNamed(const std::string& name) {
    if (name == "spread") return ray::PlacementStrategy::SPREAD;
    if (name == "strict_pack") return ray::PlacementStrategy::STRICT_PACK;
    if (name == "strict_spread") return ray::PlacementStrategy::STRICT_SPREAD;
    return ray::PlacementStrategy::PACK;
  }

  // "CPU=1,GPU=0.5".
  static std::unordered_map<std::string, double> ResourcesOf(
      const std::string& text) {
    std::unordered_map<std::string, double> resources;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      const size_t equals = text.rfind('=', end);
      resources[text.substr(at, equals - at)] =
          std::atof(text.c_str() + equals + 1);
      at = end + 1;
    }
    return resources;
  }

  void Place(const std::vector<std::string>& request) {
    try {
      folder_ = request[5];
      Connect(folder_);
      if (request[4] == "look" &&
          !LookAtNodes(folder_, request[6], request[7])) {
        return;
      }
      const int seats = std::atoi(request[1].c_str());
      const auto resources = ResourcesOf(request[3]);
      if (!Reserve(StrategyNamed(request[0]), seats,
                   std::atoi(request[2].c_str()), resources)) {
        return launcher_.Send(Type::kRefused, -1, "no room");
      }
      TakeSeats(seats, resources);
    } catch (const std::exception& error) {
      launcher_.Send(Type::kRefused, -1, TextOf(error));
    }
  }

  void TakeSeats(int seats,
                 const std::unordered_map<std::string, double>& resources) {
    for (int i = 0; i < seats; ++i) {
      auto creator = ray::Actor(AgentActor::Create);
      // A Read waits while other calls come and go.
      creator.SetMaxConcurrency(4).SetMaxRestarts(0).SetPlacementGroup(group_,
                                                                       i);
      for (const auto& one : resources) {
        creator.SetResource(one.first, one.second);
      }
      seats_.emplace_back(creator.Remote());
    }
    for (int i = 0; i < seats; ++i) {
      Seat& seat = seats_[static_cast<size_t>(i)];
      const auto facts = ray::Get(
          seat.actor().Task(&AgentActor::Facts).Remote(), kStartMilliseconds);
      const auto answer = answers_.find(facts->address);
      launcher_.Send(
          Type::kPlaced, i,
          Join({facts->address, facts->raylet_socket,
                std::to_string(facts->pid),
                answer == answers_.end() ? "same" : answer->second}));
    }
  }

  bool IsAlive(const std::string& node) const {
    const Address head = ParseAddress(address_);
    Cluster now;
    if (!ReadCluster(head.ip, head.port, now).empty()) return true;
    return std::any_of(
        now.nodes.begin(), now.nodes.end(),
        [&node](const ClusterNode& one) { return one.address == node; });
  }

  // False, once the launcher has been told, if a node is not fit for actors.
  bool LookAtNodes(const std::string& folder, const std::string& program,
                   const std::string& sha256) {
    answers_ = CheckNodes(
        nodes_, {folder, library_, program, sha256},
        [this](const std::string& address) { return IsAlive(address); });
    std::string refused;
    for (const auto& one : answers_) {
      if (one.second.compare(0, 7, "error: ") != 0) continue;
      refused += " node " + one.first + ": " + one.second.substr(7) + ";";
    }
    if (!refused.empty()) {
      launcher_.Send(Type::kRefused, -1,
                     "nodes that a C++ actor would crash:" + refused +
                         " install ray-cpp==" + kRayVersion + " there");
    }
    return refused.empty();
  }

  void Connect(const std::string& folder) {
    ray::RayConfig config;
    config.address = address_;
    config.code_search_path = {folder.empty() ? library_
                                              : folder + "/libagent_actor.so"};
    config.ray_namespace = "slipway-" + std::to_string(getpid());
    ray::Init(config);
    connected_ = true;
  }

  bool Reserve(ray::PlacementStrategy strategy, int seats, int seconds,
               const std::unordered_map<std::string, double>& resources) {
    ray::PlacementGroupCreationOptions options;
    options.name = "slipway-" + std::to_string(getpid());
    options.bundles.assign(static_cast<size_t>(seats), resources);
    options.strategy = strategy;
    group_ = ray::CreatePlacementGroup(options);
    reserved_ = true;
    for (int i = 0; i < seconds && !launcher_.closed(); ++i) {
      if (group_.Wait(1)) return true;
    }
    return false;
  }

  void DoOnSeat(const Message& message, Seat& seat) {
    std::vector<std::string> parts;
    std::string failure;
    switch (message.type) {
      case Type::kData:
        failure = *ray::Get(
            seat.actor().Task(&AgentActor::Write).Remote(message.body),
            kCallMilliseconds);
        return;  // an agent that has ended tells so by itself
      case Type::kPut:
        if (!messages::Split(message.body, parts) || parts.size() != 4) return;
        failure = *ray::Get(
            seat.actor()
                .Task(&AgentActor::Put)
                .Remote(parts[0], std::stoi("0" + parts[1], nullptr, 8),
                        parts[2] == "more", parts[3]),
            kCallMilliseconds);
        break;
      case Type::kStart: {
        if (!messages::Split(message.body, parts)) return;
        const auto end = std::find(parts.begin(), parts.end(), "");
        const std::vector<std::string> argv(parts.begin(), end);
        const std::vector<std::string> environment(
            end == parts.end() ? end : end + 1, parts.end());
        failure = *ray::Get(
            seat.actor().Task(&AgentActor::Start).Remote(argv, environment),
            kCallMilliseconds);
        if (failure.empty()) seat.ReadOn();
        break;
      }
      default:
        return;  // of a later version
    }
    if (!failure.empty()) Lose(message.seat, failure);
  }

  void Lose(int seat, const std::string& why) {
    seats_[static_cast<size_t>(seat)].Close();
    launcher_.Send(Type::kLost, seat, why);
  }

  void TakeOutput() {
    std::vector<ray::ObjectRef<Piece>> reads;
    reads.reserve(seats_.size());
    for (const Seat& seat : seats_) {
      if (seat.open()) reads.push_back(seat.read());
    }
    const auto waited = ray::Wait(reads, 1, kTurnMilliseconds);
    for (size_t i = 0; i < seats_.size(); ++i) {
      if (!seats_[i].open()) continue;
      const bool ready = std::any_of(
          waited.ready.begin(), waited.ready.end(),
          [&](const auto& one) { return one.ID() == seats_[i].read().ID(); });
      if (ready) TakePiece(static_cast<int>(i));
    }
  }

  void TakePiece(int index) {
    Seat& seat = seats_[static_cast<size_t>(index)];
    try {
      const std::shared_ptr<Piece> piece =
          ray::Get(seat.read(), kCallMilliseconds);
      if (!piece->log.empty()) launcher_.Send(Type::kLog, index, piece->log);
      if (!piece->out.empty()) launcher_.Send(Type::kData, index, piece->out);
      if (piece->ended.empty()) return seat.ReadOn();
      seat.Close();
      launcher_.Send(Type::kEnded, index, piece->ended);
    } catch (const std::exception& error) {
      Lose(index, TextOf(error));
    }
  }

  void End() {
    try {
      for (Seat& seat : seats_) {
        seat.Close();
        seat.actor().Kill();
      }
      seats_.clear();
      if (reserved_) ray::RemovePlacementGroup(group_.GetID());
      if (!folder_.empty()) RemoveFolder(nodes_, folder_);
      if (connected_) ray::Shutdown();
    } catch (const std::exception& error) {
      std::cerr << "ray_driver: " << TextOf(error) << "\n";
    }
  }

  const std::string address_;
  const std::string library_;
  const std::vector<ClusterNode> nodes_;
  // For what nodes lack.
  std::string folder_;
  // Of CheckNodes; empty where nobody was asked.
  std::map<std::string, std::string> answers_;
  LauncherPipe& launcher_;
  bool connected_ = false;
  bool reserved_ = false;
  ray::PlacementGroup group_;
  std::vector<Seat> seats_;
};

std::string FlagValue(int argc, char** argv, const std::string& name) {
  const std::string prefix = name + "=";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.compare(0, prefix.size(), prefix) == 0) {
      return word.substr(prefix.size());
    }
  }
  return "";
}

std::string ListOf(const ClusterNode& node) {
  return Join({node.id, node.address, node.host, node.raylet_socket, node.total,
               node.available});
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--home") {
    std::cout << kRayHome << "\n";
    return 0;
  }
  const std::string text = FlagValue(argc, argv, "--address");
  const Address address = ParseAddress(text);
  if (address.port == 0) {
    std::cerr << "usage: ray_driver --address=HOST:PORT --library=FILE\n";
    return 2;
  }
  LauncherPipe launcher;
  launcher.Send(Type::kHello, -1, Join({messages::kVersion, kRayVersion}));
  Cluster cluster;
  // A node joins, and the version is told, a little after the head has started.
  while ((cluster.nodes.empty() || cluster.ray_version.empty()) &&
         !launcher.closed()) {
    cluster = Cluster();
    const std::string error = ReadCluster(address.ip, address.port, cluster);
    if (!error.empty()) {
      launcher.Send(Type::kRefused, -1, error);
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::vector<std::string> answer = {cluster.ray_version};
  for (const ClusterNode& node : cluster.nodes) answer.push_back(ListOf(node));
  launcher.Send(Type::kCluster, -1, Join(answer));
  std::thread([&] { WatchHead(address, launcher); }).detach();
  Driver(text, FlagValue(argc, argv, "--library"), cluster.nodes, launcher)
      .Run();
  // Threads still run.
  _exit(0);
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) { return slipway::Main(argc, argv); }
