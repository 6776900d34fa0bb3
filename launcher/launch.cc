#include "launcher/launch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "launcher/environment/environment.h"
#include "launcher/rendezvous/rendezvous.h"
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

class Launcher {
 public:
  Launcher(const LaunchRequest& request, Problems& problems)
      : request_(request),
        problems_(problems),
        console_(request.supervision.err != nullptr ? *request.supervision.err
                                                    : std::cerr) {}

  absl::StatusOr<LaunchReport> Run() {
    absl::Status status = MakeLogDir();
    if (!status.ok()) return status;
    report_.command = request_.argv;
    report_.started = TimeText(absl::Now());
    report_.world_size = request_.plan.world_size();
    report_.plan = ToJson(request_.plan);
    // Signals between attempts wait for the next one, or for a restart's sleep.
    ForwardedSignals signals;
    for (int attempt = 0;; ++attempt) {
      status = RunAttempt(attempt);
      if (!status.ok()) break;
      if (!WantsRestart() || !WaitToRestart(attempt)) break;
    }
    report_.ended = TimeText(absl::Now());
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
    absl::StatusOr<Rendezvous> meeting =
        Rendezvous::Open({.address = request_.plan.environment.master_addr,
                          .port = request_.master_port,
                          .listen = request_.takes_store});
    if (!meeting.ok()) return meeting.status();
    SupervisorOptions options = request_.supervision;
    options.attempt = attempt;
    absl::StatusOr<AttemptReport> done =
        Supervise(Programs(attempt, *meeting), options, problems_);
    if (!done.ok()) return done.status();
    for (RankReport& rank : done->ranks) rank.node = request_.plan.host;
    report_.attempts.push_back(*std::move(done));
    return absl::OkStatus();
  }

  std::vector<RankProgram> Programs(int attempt, const Rendezvous& meeting) {
    EnvironmentRequest common = request_.plan.environment;
    common.master_port = meeting.port();
    common.restart = attempt;
    std::vector<RankProgram> programs;
    for (const RankPlacement& rank : request_.plan.placement.ranks) {
      EnvironmentPlan environment = RankEnvironment(common, rank);
      for (const auto& [name, value] : request_.variables) {
        environment.set[name] = value;
      }
      RankProgram program = {.argv = request_.argv,
                             .binding = Binding(rank.cpus, rank.memory_nodes)};
      if (attempt > 0) {
        program.argv.insert(program.argv.end(),
                            request_.restart_arguments.begin(),
                            request_.restart_arguments.end());
      }
      if (request_.takes_store && rank.rank == 0) {
        environment.set["SLIPWAY_STORE_FD"] = absl::StrCat(meeting.fd());
        program.inherited_fds.push_back(meeting.fd());
      }
      program.environment = Apply(environment, CurrentEnvironment());
      programs.push_back(std::move(program));
    }
    return programs;
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
  Problems& problems_;
  std::ostream& console_;
  LaunchReport report_;
};

}  // namespace

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
