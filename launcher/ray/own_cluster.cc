#include "launcher/ray/own_cluster.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "launcher/environment/environment.h"
#include "launcher/supervisor/pipes.h"
#include "launcher/supervisor/signals.h"

namespace slipway::launcher {
namespace {

constexpr char kPythonVersion[] = "3.11";
constexpr absl::Duration kPatience = absl::Seconds(60);
// Of Ray's object store, in which we keep nothing; less is refused.
constexpr char kObjectStoreBytes[] = "80000000";
// Short, since the paths of Ray's sockets have to fit below it.
constexpr char kFolders[] = "/tmp/slipway-ray-";

std::string RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    std::abort();
  }
  return absl::BytesToHexString(random);
}

// A port that nobody has right now.
int FreePort() {
  const Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where = {.sin_family = AF_INET};
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  auto* address = reinterpret_cast<sockaddr*>(&where);
  if (bind(fd.get(), address, size) != 0 ||
      getsockname(fd.get(), address, &size) != 0) {
    return 0;
  }
  return ntohs(where.sin_port);
}

std::string LastLine(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

std::vector<std::string> StartCommand(const std::string& python,
                                      const OwnClusterRequest& request,
                                      int port, const std::string& folder) {
  Resources own = request.resources;
  std::string cpus = "1", gpus;
  if (const auto it = own.find("CPU"); it != own.end()) {
    cpus = absl::StrCat(it->second);
    own.erase(it);
  }
  own.erase("GPU");  // Ray counts them itself
  std::vector<std::string> argv = {
      python, "-m", "ray.scripts.scripts", "start", "--head", "--block",
      absl::StrCat("--port=", port), "--node-ip-address=127.0.0.1",
      absl::StrCat("--num-cpus=", cpus),
      // Any that are free, so that clusters on one machine do not collide.
      "--min-worker-port=0", "--max-worker-port=0", "--include-dashboard=false",
      "--include-log-monitor=false", "--disable-usage-stats",
      "--log-color=false",
      absl::StrCat("--object-store-memory=", kObjectStoreBytes),
      absl::StrCat("--temp-dir=", folder)};
  if (!own.empty()) {
    argv.push_back(
        absl::StrCat("--resources={",
                     absl::StrJoin(own, ",",
                                   [](std::string* out, const auto& one) {
                                     absl::StrAppend(out, "\"", one.first,
                                                     "\":", one.second);
                                   }),
                     "}"));
  }
  return argv;
}

}  // namespace

std::string OutputOf(const std::vector<std::string>& argv) {
  std::string command;
  for (const std::string& word : argv) {
    absl::StrAppend(&command, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}),
                    "' ");
  }
  FILE* pipe = popen((command + "2>/dev/null").c_str(), "re");
  if (pipe == nullptr) return "";
  std::string output;
  char bytes[4096];
  while (const size_t got = fread(bytes, 1, sizeof(bytes), pipe)) {
    output.append(bytes, got);
  }
  return pclose(pipe) == 0 ? output : "";
}

absl::StatusOr<std::string> FindPython() {
  std::string found;
  for (const char* name : {"python3.11", "python3"}) {
    const std::string answer = OutputOf(
        {name, "-c",
         "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"});
    const size_t space = answer.find(' ');
    if (space == answer.npos) continue;
    std::string path(absl::StripSuffix(answer.substr(space + 1), "\n"));
    if (answer.substr(0, space) == kPythonVersion) return path;
    absl::StrAppend(&found, found.empty() ? "" : ", ", path, " is ",
                    answer.substr(0, space));
  }
  return absl::NotFoundError(absl::StrCat(
      "a local Ray cluster needs Python ", kPythonVersion, " on the PATH (",
      found.empty() ? "there is none" : found,
      "); start a cluster of your own (ray start --head) and give its "
      "--ray_address"));
}

absl::StatusOr<std::unique_ptr<OwnCluster>> OwnCluster::Start(
    const OwnClusterRequest& request) {
  absl::StatusOr<std::string> python = FindPython();
  if (!python.ok()) return python.status();
  auto cluster = std::unique_ptr<OwnCluster>(new OwnCluster());
  absl::StatusOr<HeldFolder> folder = HeldFolder::Make(kFolders);
  if (!folder.ok()) return folder.status();
  cluster->folder_.emplace(*std::move(folder));
  cluster->token_ = RandomHex(32);
  cluster->address_ = {"127.0.0.1", FreePort()};
  const Descriptor log(open(cluster->LogFile().c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const char* path = std::getenv("PYTHONPATH");
  EnvironmentPlan changes = {
      .set = {{"PYTHONPATH", path == nullptr
                                 ? request.home
                                 : absl::StrCat(request.home, ":", path)}}};
  RankProgram program = {
      .argv = StartCommand(*python, request, cluster->address_.port,
                           cluster->folder_->path()),
      .environment = Apply(changes, cluster->environment()),
      .stdin_fd = nothing.get(),
      .stdout_fd = log.get(),
      .stderr_fd = log.get()};
  std::vector<RankProgram> programs;
  programs.push_back(std::move(program));
  absl::StatusOr<Reaper> reaper = Reaper::Start(programs, BindMode::kNone);
  if (!reaper.ok()) return reaper.status();
  cluster->reaper_.emplace(*std::move(reaper));
  const absl::Status status = cluster->WaitUntilItListens();
  if (!status.ok()) return status;
  return cluster;
}

absl::Status OwnCluster::WaitUntilItListens() {
  const absl::Time end = absl::Now() + kPatience;
  ForwardedSignals signals;
  while (absl::Now() < end) {
    if (IsAlive()) return absl::OkStatus();
    pollfd ready = {reaper_->fd(), POLLIN, 0};
    if (poll(&ready, 1, 0) == 1) {
      const std::optional<ReaperEvent> event = reaper_->Receive();
      if (!event || event->kind != ReaperEvent::Kind::kStarted) {
        return absl::UnavailableError(absl::StrCat(
            "the local Ray cluster did not start: ", LastLine(LogFile())));
      }
    }
    if (!signals.Sleep(absl::Milliseconds(20))) {
      return absl::CancelledError("stopped while the Ray cluster started");
    }
  }
  return absl::UnavailableError(
      absl::StrCat("the local Ray cluster did not start within ",
                   absl::FormatDuration(kPatience), ": ", LastLine(LogFile())));
}

OwnCluster::~OwnCluster() {
  if (reaper_) reaper_->Finish();
}

std::vector<std::string> OwnCluster::environment() const {
  return Apply({.set = {{"RAY_AUTH_MODE", "token"},
                        {"RAY_AUTH_TOKEN", token_},
                        // Else it listens on every interface.
                        {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0"}},
                .unset = {"RAY_ADDRESS", "RAY_AUTH_TOKEN_PATH"}},
               CurrentEnvironment());
}

}  // namespace slipway::launcher
