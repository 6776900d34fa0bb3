// Speaks as the Ray driver does, with no Ray behind it: its seats are on this
// machine, and their agents its own children. For tests of everything on the
// launcher's side of the pipes, with real agents.
//
//   STAND_IN=FAULT        what goes wrong, if anything: see Fault()
//   STAND_IN_NODES=LIST   "127.0.0.1 CPU=4;127.0.0.2 CPU=4": seats go around
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/ray_driver/messages.h"

namespace slipway {
namespace {

using messages::Join;
using messages::Message;
using messages::Type;

// old: speaks another version. other_ray: the cluster runs another Ray. full:
// there is no room. foreign: the nodes say that they lack everything. dies: it
// ends once ranks have written something. head_lost, seat_lost: says so then.
const std::string& Fault() {
  static const auto* fault = new std::string(
      std::getenv("STAND_IN") == nullptr ? "" : std::getenv("STAND_IN"));
  return *fault;
}

struct Node {
  std::string address;
  std::string resources;
};

std::vector<Node> Nodes() {
  const char* text = std::getenv("STAND_IN_NODES");
  std::vector<Node> nodes;
  for (const auto part :
       absl::StrSplit(text == nullptr ? "127.0.0.1 CPU=8" : text, ';')) {
    const std::vector<std::string> words = absl::StrSplit(part, ' ');
    nodes.push_back({words[0], words[1]});
  }
  return nodes;
}

void WriteAll(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(fd, &bytes[at], bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    at += static_cast<size_t>(wrote);
  }
}

void Say(Type type, int seat, const std::string& body) {
  WriteAll(STDOUT_FILENO, messages::Encode({type, seat, body}));
}

struct Seat {
  pid_t pid = -1;
  int in = -1;
  int out = -1;
};

void StartAgent(Seat& seat, const std::vector<std::string>& argv) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  seat.pid = fork();
  if (seat.pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    std::vector<char*> words;
    for (const std::string& word : argv) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  seat.in = in[1];
  seat.out = out[0];
}

class StandIn {
 public:
  int Run() {
    Say(Type::kHello, -1,
        Join({Fault() == "old" ? "0" : messages::kVersion, "2.60.0"}));
    Describe();
    while (Turn()) {
    }
    for (Seat& seat : seats_) {
      if (seat.in >= 0) close(seat.in);
      if (seat.pid > 0) waitpid(seat.pid, nullptr, 0);
    }
    return 0;
  }

 private:
  void Describe() {
    std::vector<std::string> answer = {Fault() == "other_ray" ? "2.50.0"
                                                              : "2.60.0"};
    for (const Node& node : nodes_) {
      answer.push_back(Join({"id", node.address, "host", "socket",
                             node.resources, node.resources}));
    }
    Say(Type::kCluster, -1, Join(answer));
  }

  // False when the launcher wants nothing more.
  bool Turn() {
    std::vector<pollfd> fds = {{STDIN_FILENO, POLLIN, 0}};
    for (const Seat& seat : seats_) fds.push_back({seat.out, POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    for (size_t i = 0; i < seats_.size(); ++i) {
      if (fds[i + 1].revents != 0) Relay(static_cast<int>(i));
    }
    return fds[0].revents == 0 || Receive();
  }

  void Relay(int index) {
    Seat& seat = seats_[static_cast<size_t>(index)];
    char bytes[messages::kMaxPiece];
    const ssize_t got = read(seat.out, bytes, sizeof(bytes));
    if (got > 0) {
      const std::string piece(bytes, static_cast<size_t>(got));
      Say(Type::kData, index, piece);
      // Of a rank, not of the agent's own first words.
      if (piece.find("FAULT") != piece.npos) Fail(index);
      return;
    }
    int status = 0;
    waitpid(seat.pid, &status, 0);
    Say(Type::kEnded, index, absl::StrCat("wait status ", status));
    close(seat.out);
    seat = {.in = seat.in};
  }

  void Fail(int index) {
    if (Fault() == "dies") {
      WriteAll(STDERR_FILENO,
               "x.cc:1: A bug. Check failed: something of Ray's\n"
               "*** StackTrace ***\n");
      _exit(1);
    }
    if (Fault() == "head_lost") Say(Type::kHeadLost, -1, "");
    if (Fault() == "seat_lost") Say(Type::kLost, index, "std::bad_cast");
  }

  bool Receive() {
    char bytes[messages::kMaxPiece];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got <= 0) return false;
    decoder_.Add(bytes, static_cast<size_t>(got));
    Message message;
    while (decoder_.Next(message)) Do(message);
    return true;
  }

  void Do(const Message& message) {
    std::vector<std::string> parts;
    messages::Split(message.body, parts);
    if (message.type == Type::kPlace) {
      if (Fault() == "full") return Say(Type::kRefused, -1, "no room");
      int seats = 0;
      if (!absl::SimpleAtoi(parts[1], &seats)) std::abort();
      seats_.resize(static_cast<size_t>(seats));
      for (int i = 0; i < seats; ++i) {
        Say(Type::kPlaced, i,
            Join({nodes_[static_cast<size_t>(i) % nodes_.size()].address,
                  "socket", "1", Fault() == "foreign" ? "differs" : "same"}));
      }
      return;
    }
    Seat& seat = seats_[static_cast<size_t>(message.seat)];
    if (message.type == Type::kData) return WriteAll(seat.in, message.body);
    if (message.type == Type::kPut) return Put(parts);
    if (message.type != Type::kStart) return;
    const auto end = std::find(parts.begin(), parts.end(), "");
    for (auto it = end; it != parts.end(); ++it) {
      const size_t equals = it->find('=');
      if (equals == it->npos) continue;
      setenv(it->substr(0, equals).c_str(), it->c_str() + equals + 1, 1);
    }
    StartAgent(seat, {parts.begin(), end});
  }

  static void Put(const std::vector<std::string>& parts) {
    const std::filesystem::path path = parts[0];
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, parts[2] == "more" ? std::ios::app : std::ios::trunc)
        << parts[3];
    chmod(path.c_str(),
          static_cast<mode_t>(std::stoi("0" + parts[1], nullptr, 8)));
  }

  const std::vector<Node> nodes_ = Nodes();
  std::vector<Seat> seats_;
  messages::Decoder decoder_;
};

}  // namespace
}  // namespace slipway

int main() {
  signal(SIGPIPE, SIG_IGN);
  return slipway::StandIn().Run();
}
