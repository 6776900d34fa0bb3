// What became of a launch: launch_report.json, and a few lines for people.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_REPORT_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_REPORT_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/topology/cpu_set.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {

// One rank in one attempt.
struct RankReport {
  int rank = 0;
  std::string node = "localhost";
  pid_t pid = 0;
  CpuSet cpus_bound;
  std::optional<int> exit_code;  // absent if a signal ended it
  std::optional<int> signal;
  // The launcher ended it (a peer had failed, or the user asked to).
  bool ended_by_launcher = false;
  double seconds = 0;
  std::vector<std::string> stderr_tail;

  bool failed() const { return signal || exit_code.value_or(0) != 0; }
  // 128 + signal, as shells have it.
  int code() const;
};

struct Failure {
  enum class Reason {
    kExit,
    kSignal,
    kOutOfMemory,
    kHeartbeat,
    kNodeLost,
    kStart
  };
  int attempt = 0;
  int rank = 0;
  Reason reason = Reason::kExit;
  std::optional<int> exit_code;
  std::optional<int> signal;
  double seconds = 0;  // after the attempt's start
  std::string message;
  std::vector<std::string> stderr_tail;
  std::string stack;  // of a rank that hung
};

struct AttemptReport {
  int attempt = 0;
  double seconds = 0;
  std::vector<RankReport> ranks;
  // The rank that ended the attempt; absent if all went well.
  std::optional<Failure> first_failure;
  // The user (or a supervisor above) asked to stop.
  bool interrupted = false;

  int exit_code() const;
};

struct LaunchReport {
  std::vector<std::string> command;
  std::string backend = "subprocess";
  std::string started;  // RFC 3339
  std::string ended;
  int world_size = 1;
  nlohmann::ordered_json plan;
  std::vector<AttemptReport> attempts;

  // Of the last attempt.
  int exit_code() const;
  const Failure* first_failure() const;
};

// "SIGKILL"; "signal 64" for one without a name.
std::string SignalName(int signal);

// As in the contracts.
nlohmann::ordered_json ToJson(const LaunchReport& report);

// The failure in a few lines: which rank, what it died of, its last words, what
// to do. Empty without a failure. `log_dir` may be "": none.
std::string FormatFailure(const LaunchReport& report,
                          const std::string& log_dir);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_REPORT_H_
