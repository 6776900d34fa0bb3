#include "launcher/supervisor/report.h"

#include <signal.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::launcher {
namespace {

using nlohmann::ordered_json;

std::string_view Name(Failure::Reason reason) {
  switch (reason) {
    case Failure::Reason::kExit:
      return "exit";
    case Failure::Reason::kSignal:
      return "signal";
    case Failure::Reason::kOutOfMemory:
      return "out_of_memory";
    case Failure::Reason::kHeartbeat:
      return "heartbeat";
    case Failure::Reason::kNodeLost:
      return "node_lost";
    case Failure::Reason::kStart:
      return "start";
  }
  return "";
}

ordered_json OrNull(const std::optional<int>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json SignalOrNull(const std::optional<int>& signal) {
  return signal ? ordered_json(SignalName(*signal)) : ordered_json();
}

ordered_json ToJson(const RankReport& rank) {
  return {{"rank", rank.rank},
          {"node", rank.node},
          {"pid", rank.pid},
          {"cpus_bound", rank.cpus_bound.ToVector()},
          {"exit_code", OrNull(rank.exit_code)},
          {"signal", SignalOrNull(rank.signal)},
          {"ended_by", rank.ended_by_launcher ? "launcher" : "itself"},
          {"seconds", rank.seconds},
          {"stderr_tail", rank.stderr_tail}};
}

ordered_json ToJson(const AttemptReport& attempt) {
  ordered_json ranks = ordered_json::array();
  for (const RankReport& rank : attempt.ranks) ranks.push_back(ToJson(rank));
  return {{"attempt", attempt.attempt},
          {"seconds", attempt.seconds},
          {"ranks", std::move(ranks)}};
}

ordered_json ToJson(const Failure& failure) {
  return {{"attempt", failure.attempt},
          {"rank", failure.rank},
          {"reason", Name(failure.reason)},
          {"exit_code", OrNull(failure.exit_code)},
          {"signal", SignalOrNull(failure.signal)},
          {"seconds", failure.seconds},
          {"message", failure.message},
          {"stderr_tail", failure.stderr_tail},
          {"stack", failure.stack}};
}

// Ranks that were well when the first failure came.
ordered_json Survivors(const LaunchReport& report) {
  ordered_json survivors = ordered_json::array();
  if (report.first_failure() == nullptr) return survivors;
  for (const RankReport& rank : report.attempts.back().ranks) {
    if (rank.rank != report.first_failure()->rank &&
        (rank.ended_by_launcher || !rank.failed())) {
      survivors.push_back(rank.rank);
    }
  }
  return survivors;
}

}  // namespace

int RankReport::code() const {
  return signal ? 128 + *signal : exit_code.value_or(0);
}

int AttemptReport::exit_code() const {
  if (first_failure) {
    if (first_failure->signal) return 128 + *first_failure->signal;
    return first_failure->exit_code.value_or(1);
  }
  for (const RankReport& rank : ranks) {
    if (rank.failed()) return rank.code();
  }
  return 0;
}

int LaunchReport::exit_code() const {
  return attempts.empty() ? 0 : attempts.back().exit_code();
}

const Failure* LaunchReport::first_failure() const {
  if (attempts.empty() || !attempts.back().first_failure) return nullptr;
  return &*attempts.back().first_failure;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  if (name == nullptr) return absl::StrCat("signal ", signal);
  return absl::StrCat("SIG", name);
}

ordered_json ToJson(const LaunchReport& report) {
  ordered_json attempts = ordered_json::array();
  for (const AttemptReport& attempt : report.attempts) {
    attempts.push_back(ToJson(attempt));
  }
  const Failure* failure = report.first_failure();
  return {{"schema", 1},
          {"command", report.command},
          {"backend", report.backend},
          {"started", report.started},
          {"ended", report.ended},
          {"world_size", report.world_size},
          {"plan", report.plan},
          {"attempts", std::move(attempts)},
          {"first_failure", failure ? ToJson(*failure) : ordered_json()},
          {"survivors", Survivors(report)},
          {"exit_code", report.exit_code()}};
}

std::string FormatFailure(const LaunchReport& report,
                          const std::string& log_dir) {
  const Failure* failure = report.first_failure();
  if (failure == nullptr) return "";
  std::string text =
      absl::StrFormat("error: rank %d failed after %.1f s: %s\n", failure->rank,
                      failure->seconds, failure->message);
  if (!failure->stderr_tail.empty()) {
    absl::StrAppend(&text, "  its last lines on stderr:\n");
    for (const std::string& line : failure->stderr_tail) {
      absl::StrAppend(&text, "    ", line, "\n");
    }
  }
  if (!failure->stack.empty()) {
    absl::StrAppend(&text, "  where it hung:\n", failure->stack);
  }
  if (!log_dir.empty()) {
    absl::StrAppend(&text, "  report: ", log_dir, "/launch_report.json\n");
  }
  return text;
}

}  // namespace slipway::launcher
