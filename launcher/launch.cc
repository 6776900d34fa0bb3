#include "launcher/launch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "launcher/environment/environment.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/supervisor/local_ranks.h"
#include "launcher/supervisor/signals.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

// What a program returns that has found its command line wrong.
constexpr int kNothingStarted = 2;
constexpr absl::Duration kLongestBackoff = absl::Minutes(1);

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string VariableOr(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

// Descriptors 0 to 2 must be taken, or a pipe would become a rank's stdout.
void OpenStandardDescriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) fd = open("/dev/null", O_RDWR);
  if (fd > 2) close(fd);
}

// Ranks on this machine, and the port at which they meet.
class ThisMachine : public Backend {
 public:
  absl::StatusOr<std::unique_ptr<Ranks>> Start(const LaunchRequest& request,
                                               int attempt,
                                               LaunchPlan& plan) override {
    const NodePlan& node = plan.nodes[0];
    absl::StatusOr<Rendezvous> meeting =
        Rendezvous::Open({.address = node.environment.master_addr,
                          .port = request.master_port,
                          .listen = request.takes_store});
    if (!meeting.ok()) return meeting.status();
    meeting_.emplace(*std::move(meeting));
    return LocalRanks::Start(Programs(request, attempt, node),
                             request.supervision.bind);
  }

 private:
  std::vector<RankProgram> Programs(const LaunchRequest& request, int attempt,
                                    const NodePlan& node) const {
    EnvironmentRequest common = node.environment;
    common.master_port = meeting_->port();
    common.restart = attempt;
    std::vector<RankProgram> programs;
    for (const RankPlacement& rank : node.placement.ranks) {
      EnvironmentPlan environment = RankEnvironment(common, rank);
      for (const auto& [name, value] : request.variables) {
        environment.set[name] = value;
      }
      RankProgram program = {.argv = CommandLine(request, attempt),
                             .binding = Binding(rank.cpus, rank.memory_nodes)};
      if (request.takes_store && rank.rank == 0) {
        environment.set["SLIPWAY_STORE_FD"] = absl::StrCat(meeting_->fd());
        program.inherited_fds.push_back(meeting_->fd());
      }
      program.environment = Apply(environment, CurrentEnvironment());
      programs.push_back(std::move(program));
    }
    return programs;
  }

  // Of the attempt that runs.
  std::optional<Rendezvous> meeting_;
};

class Launcher {
 public:
  Launcher(const LaunchRequest& request, Problems& problems)
      : request_(request),
        plan_(request.plan),
        backend_(request.backend != nullptr ? *request.backend : this_machine_),
        problems_(problems),
        console_(request.supervision.err != nullptr ? *request.supervision.err
                                                    : std::cerr) {}

  absl::StatusOr<LaunchReport> Run() {
    absl::Status status = MakeLogDir();
    if (!status.ok()) return status;
    report_.command = request_.argv;
    report_.started = TimeText(absl::Now());
    // Signals between attempts wait for the next one, or for a restart's sleep.
    ForwardedSignals signals;
    for (int attempt = 0;; ++attempt) {
      status = RunAttempt(attempt);
      if (!status.ok()) break;
      if (!WantsRestart() || !WaitToRestart(attempt)) break;
    }
    report_.ended = TimeText(absl::Now());
    report_.backend = plan_.backend;
    report_.world_size = plan_.world_size();
    report_.plan = ToJson(plan_);
    if (!status.ok()) {
      if (report_.attempts.empty()) return status;
      problems_.push_back(
          {.kind = "value", .message = std::string(status.message())});
    }
    WriteReport();
    // The end has come already for whoever asked for it.
    while (signals.Next()) {
    }
    return std::move(report_);
  }

 private:
  absl::Status MakeLogDir() {
    const std::string& folder = request_.supervision.log_dir;
    std::error_code error;
    if (!folder.empty()) fs::create_directories(folder, error);
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make the log folder \"", folder,
                     "\": ", error.message(), " (--log_dir)"));
  }

  absl::Status RunAttempt(int attempt) {
    absl::StatusOr<std::unique_ptr<Ranks>> ranks =
        backend_.Start(request_, attempt, plan_);
    if (!ranks.ok()) return ranks.status();
    SupervisorOptions options = request_.supervision;
    options.attempt = attempt;
    AttemptReport done = Supervise(**ranks, options, problems_);
    for (RankReport& rank : done.ranks) {
      rank.node = plan_.NodeOf(rank.rank).host;
    }
    report_.attempts.push_back(std::move(done));
    return absl::OkStatus();
  }

  bool WantsRestart() const {
    const AttemptReport& last = report_.attempts.back();
    return last.first_failure && !last.interrupted &&
           last.first_failure->reason != Failure::Reason::kStart &&
           last.exit_code() != kNothingStarted &&
           last.attempt < request_.max_restarts;
  }

  // False if the user asks to stop meanwhile.
  bool WaitToRestart(int attempt) {
    const Failure& failure = *report_.attempts.back().first_failure;
    absl::Duration backoff = request_.backoff;
    for (int i = 0; i < attempt && backoff < kLongestBackoff; ++i) backoff *= 2;
    backoff = std::min(backoff, kLongestBackoff);
    console_ << absl::StrFormat(
        "rank %d failed after %.1f s: %s; restart %d of %d in %s\n",
        failure.rank, failure.seconds, failure.message, attempt + 1,
        request_.max_restarts, absl::FormatDuration(backoff));
    return ForwardedSignals().Sleep(backoff);
  }

  void WriteReport() {
    const std::string& folder = request_.supervision.log_dir;
    if (folder.empty()) return;
    const std::string path = folder + "/launch_report.json";
    std::ofstream file(path);
    // Ranks may have written any bytes.
    file << ToJson(report_).dump(2, ' ', false,
                                 nlohmann::json::error_handler_t::replace)
         << "\n";
    if (file.flush()) return;
    problems_.push_back({.kind = "data",
                         .severity = Severity::kWarning,
                         .message = absl::StrCat("cannot write ", path)});
  }

  const LaunchRequest& request_;
  LaunchPlan plan_;
  ThisMachine this_machine_;
  Backend& backend_;
  Problems& problems_;
  std::ostream& console_;
  LaunchReport report_;
};

}  // namespace

std::vector<std::string> CommandLine(const LaunchRequest& request,
                                     int attempt) {
  std::vector<std::string> argv = request.argv;
  if (attempt > 0) {
    argv.insert(argv.end(), request.restart_arguments.begin(),
                request.restart_arguments.end());
  }
  return argv;
}

absl::StatusOr<LaunchReport> Launch(const LaunchRequest& request,
                                    Problems& problems) {
  OpenStandardDescriptors();
  return Launcher(request, problems).Run();
}

std::string DefaultLogDir(absl::Time now) {
  std::error_code error;
  const std::string home = VariableOr("HOME", fs::temp_directory_path(error));
  const std::string cache = VariableOr("XDG_CACHE_HOME", home + "/.cache");
  return absl::StrCat(
      cache, "/slipway/launches/",
      absl::FormatTime("%Y%m%d_%H%M%S", now, absl::LocalTimeZone()), "-",
      getpid());
}

}  // namespace slipway::launcher
