#include "launcher/agent/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/agent/body.h"
#include "launcher/agent/files.h"
#include "launcher/binding/binding.h"
#include "launcher/ray_driver/messages.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/supervisor/local_ranks.h"
#include "launcher/supervisor/pipes.h"
#include "launcher/topology/topology.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using messages::Message;
using messages::Type;
using nlohmann::json;

constexpr absl::Duration kBetweenSignsOfLife = absl::Seconds(1);
// Unsent output above which the rank has to wait.
constexpr size_t kMostUnsent = 1 << 20;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

json Facts() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  json facts = {{"version", messages::kVersion},
                {"host", host},
                {"boot_id", FirstLine("/proc/sys/kernel/random/boot_id")}};
  const absl::StatusOr<Topology> machine = ReadTopology({});
  if (machine.ok()) {
    facts["topology"] = ToJson(*machine);
  } else {
    facts["error"] = std::string(machine.status().message());
  }
  return facts;
}

class Agent {
 public:
  Agent(int in, int out, const std::string& folder)
      : in_(in), out_(out), folder_(folder) {
    MakeNonBlocking(in_);
    MakeNonBlocking(out_);
  }

  int Run() {
    Send(Type::kFacts, DumpBody(Facts()));
    while (!done_) Turn();
    if (ranks_) ranks_->Finish();
    return 0;
  }

 private:
  void Send(Type type, std::string body) {
    unsent_ += messages::Encode({type, 0, std::move(body)});
  }

  void Turn() {
    std::vector<pollfd> fds = {
        {in_, POLLIN, 0},
        {out_, static_cast<short>(unsent_.empty() ? 0 : POLLOUT), 0}};
    const bool listens = ranks_ && unsent_.size() < kMostUnsent;
    if (listens) {
      for (const pollfd& one : ranks_->Watched()) fds.push_back(one);
    }
    poll(fds.data(), fds.size(), Timeout());
    if (fds[0].revents != 0) Receive();
    if (listens) {
      for (const RankEvent& event : ranks_->Take()) Report(event);
    }
    if (absl::Now() >= next_sign_) {
      Send(Type::kAlive, "");
      next_sign_ = absl::Now() + kBetweenSignsOfLife;
    }
    Flush();
    if (finishing_ && !(ranks_ && ranks_->IsOpen()) && unsent_.empty()) {
      done_ = true;
    }
  }

  int Timeout() const {
    if (finishing_) return 10;
    const int64_t left = absl::ToInt64Milliseconds(next_sign_ - absl::Now());
    return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1000));
  }

  void Flush() {
    while (!unsent_.empty()) {
      const ssize_t wrote = write(out_, unsent_.data(), unsent_.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EAGAIN) return;
      if (wrote < 0) {
        done_ = true;
        return;
      }
      unsent_.erase(0, static_cast<size_t>(wrote));
    }
  }

  void Receive() {
    char bytes[64 << 10];
    while (true) {
      const ssize_t got = read(in_, bytes, sizeof(bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) {
        done_ = true;
        return;
      }
      decoder_.Add(bytes, static_cast<size_t>(got));
    }
    Message message;
    while (decoder_.Next(message)) Obey(message);
    done_ = done_ || decoder_.broken();
  }

  void Obey(const Message& message) {
    try {
      Do(message);
    } catch (const json::exception& error) {
      // Another version's launcher would have been refused before.
      Fail(absl::StrCat("a message that is none: ", error.what()));
    }
  }

  void Do(const Message& message) {
    switch (message.type) {
      case Type::kMeet:
        return Meet(json::parse(message.body));
      case Type::kManifest:
        return Send(Type::kUnpacked, DumpBody(files_.Compare(message.body)));
      case Type::kFile:
        if (const absl::Status status = files_.Take(message.body);
            !status.ok()) {
          Send(Type::kUnpacked,
               DumpBody({{"error", std::string(status.message())}}));
        }
        return;
      case Type::kRun:
        return Start(json::parse(message.body));
      case Type::kSignal:
        return Signal(message.body);
      case Type::kDescribe:
        if (ranks_) ranks_->Describe(0);
        return;
      case Type::kFinish:
        if (ranks_) ranks_->Finish();
        finishing_ = true;
        return;
      default:
        return;  // of a later version
    }
  }

  void Meet(const json& request) {
    std::optional<int> port;
    if (!request.at("port").is_null()) port = request.at("port").get<int>();
    absl::StatusOr<Rendezvous> meeting =
        Rendezvous::Open({.address = request.at("address"),
                          .port = port,
                          .listen = request.at("listen")});
    if (!meeting.ok()) {
      return Send(
          Type::kMeeting,
          DumpBody({{"error", std::string(meeting.status().message())}}));
    }
    meeting_.emplace(*std::move(meeting));
    Send(Type::kMeeting, DumpBody({{"port", meeting_->port()}}));
  }

  void Signal(const std::string& text) {
    int signal = 0;
    if (ranks_ && absl::SimpleAtoi(text, &signal)) ranks_->Signal(0, signal);
  }

  void Start(const json& request) {
    // All agents run by now, and need their program's file no longer.
    std::error_code gone;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, gone);
    const std::string folder = request.at("cwd");
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (!folder.empty() && chdir(folder.c_str()) != 0) {
      return Fail(absl::StrCat("cannot enter ", folder, ": ",
                               std::generic_category().message(errno)));
    }
    const absl::StatusOr<CpuSet> cpus =
        CpuSet::Parse(request.at("cpus").get<std::string>());
    if (!cpus.ok()) return Fail(std::string(cpus.status().message()));
    RankProgram program = {
        .argv = request.at("argv"),
        .binding = Binding(*cpus, request.at("memory_nodes"))};
    EnvironmentPlan plan = {.set = request.at("set"),
                            .unset = request.at("unset")};
    if (meeting_ && request.at("takes_store")) {
      plan.set["SLIPWAY_STORE_FD"] = absl::StrCat(meeting_->fd());
      program.inherited_fds.push_back(meeting_->fd());
    }
    program.environment =
        EnvironmentOnNode(CurrentEnvironment(), request.at("user"), plan);
    AddInterface(request.at("address"), program.environment);
    // Not the pipe to the launcher.
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    program.stdin_fd = nothing.get();
    std::vector<RankProgram> programs;
    programs.push_back(std::move(program));
    absl::StatusOr<std::unique_ptr<LocalRanks>> ranks =
        LocalRanks::Start(std::move(programs),
                          BindModeNamed(request.at("bind").get<std::string>()));
    if (!ranks.ok()) return Fail(std::string(ranks.status().message()));
    ranks_ = *std::move(ranks);
  }

  // Gloo and NCCL would take that of the host's name, which is often the
  // loopback interface's.
  static void AddInterface(const std::string& address,
                           std::vector<std::string>& environment) {
    const std::string name = InterfaceOf(address);
    if (name.empty()) return;
    for (const char* variable :
         {"GLOO_SOCKET_IFNAME=", "NCCL_SOCKET_IFNAME="}) {
      const bool is_set =
          std::any_of(environment.begin(), environment.end(),
                      [variable](const std::string& entry) {
                        return absl::StartsWith(entry, variable);
                      });
      if (!is_set) environment.push_back(variable + name);
    }
  }

  // The rank will not start.
  void Fail(const std::string& text) {
    Send(Type::kStartFailed, DumpBody({{"text", text}, {"ended", true}}));
    Send(Type::kOutEnd, "");
    Send(Type::kErrEnd, "");
  }

  void Report(const RankEvent& event) {
    using Kind = RankEvent::Kind;
    switch (event.kind) {
      case Kind::kStarted:
        return Send(Type::kStarted,
                    DumpBody({{"pid", event.pid},
                              {"cpus", event.binding.cpus().ToString()},
                              {"cpu_error", event.binding.cpu_error},
                              {"memory_error", event.binding.memory_error}}));
      case Kind::kStartFailed:
        return Send(Type::kStartFailed,
                    DumpBody({{"text", event.text}, {"ended", event.ended}}));
      case Kind::kOut:
        return Send(Type::kOut, event.text);
      case Kind::kErr:
        return Send(Type::kErr, event.text);
      case Kind::kOutEnd:
        return Send(Type::kOutEnd, "");
      case Kind::kErrEnd:
        return Send(Type::kErrEnd, "");
      case Kind::kBeat:
        return Send(Type::kBeat, "");
      case Kind::kStack:
        return Send(Type::kStack, event.text);
      case Kind::kExited:
        return Send(Type::kExited,
                    DumpBody({{"wait_status", event.wait_status},
                              {"out_of_memory", event.out_of_memory}}));
      case Kind::kLost:
        done_ = true;  // the reaper is gone: so is this
    }
  }

  const int in_;
  const int out_;
  const std::string folder_;
  messages::Decoder decoder_;
  std::string unsent_;
  ShippedFiles files_;
  std::optional<Rendezvous> meeting_;
  std::unique_ptr<LocalRanks> ranks_;
  absl::Time next_sign_ = absl::Now() + kBetweenSignsOfLife;
  bool finishing_ = false;
  bool done_ = false;
};

}  // namespace

int RunAgent(int in, int out, const std::string& folder) {
  signal(SIGPIPE, SIG_IGN);
  return Agent(in, out, folder).Run();
}

}  // namespace slipway::launcher
