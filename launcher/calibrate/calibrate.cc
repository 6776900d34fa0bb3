#include "launcher/calibrate/calibrate.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMeasuredSteps = 10;
constexpr int kWarmUpSteps = 3;
constexpr size_t kFewestIntervals = 3;
// Ranks with fewer cores are not tried with half of them.
constexpr int kCoresToHalve = 4;

// A folder that vanishes with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "slipway-calibrate.XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The first half of each rank's CPUs.
std::vector<CpuSet> HalfOf(const Placement& placement) {
  std::vector<CpuSet> lists;
  for (const RankPlacement& rank : placement.ranks) {
    std::vector<int> cpus = rank.cpus.ToVector();
    cpus.resize(cpus.size() / 2);
    lists.emplace_back(cpus);
  }
  return lists;
}

Trial HalfTrial(const Trial& whole, const Placement& placement) {
  Trial trial = whole;
  trial.placement.cpu_for_each_process = HalfOf(placement);
  trial.threads = trial.placement.cpu_for_each_process[0].size();
  trial.flags =
      absl::StrCat("--cpu_for_each_process=\"",
                   absl::StrJoin(trial.placement.cpu_for_each_process, ";",
                                 [](std::string* out, const CpuSet& list) {
                                   absl::StrAppend(out, list.ToString());
                                 }),
                   "\"");
  return trial;
}

void AddTrials(const Topology& machine, int ranks, bool straddle,
               std::vector<Trial>& trials) {
  Trial trial = {.ranks = ranks};
  trial.placement = {.num_processes = ranks, .allow_straddle = straddle};
  Problems problems;
  const auto placement = Place(machine, trial.placement, problems);
  if (!placement) return;
  trial.threads = placement->ranks[0].threads;
  trial.flags = absl::StrCat("--num_processes=", ranks,
                             straddle ? " --allow_straddle" : "");
  trials.push_back(trial);
  if (placement->ranks.back().cpus.size() >= kCoresToHalve) {
    trials.push_back(HalfTrial(trial, *placement));
  }
}

// As many steps as are to be measured, and none of what else a run does.
std::vector<std::string> Overrides(const Training& training,
                                   const std::string& run_dir) {
  const int64_t accumulate =
      training.batch ? training.batch->accumulate : int64_t{1};
  return {absl::StrCat("--run_dir=", run_dir),
          "--progress=none",
          absl::StrCat("training_hyperparams.max_train_batches=",
                       (kMeasuredSteps + kWarmUpSteps) * accumulate),
          "training_hyperparams.max_epochs=1",
          "training_hyperparams.log_every=1",
          "training_hyperparams.resume=False",
          "training_hyperparams.save_model=False"};
}

std::string FailureOf(const LaunchReport& report) {
  const Failure* failure = report.first_failure();
  if (failure == nullptr) return "it was stopped";
  for (auto line = failure->stderr_tail.rbegin();
       line != failure->stderr_tail.rend(); ++line) {
    if (line->rfind("error: ", 0) == 0) return line->substr(7);
  }
  return failure->message;
}

std::string RunDirIn(const std::string& folder) { return folder + "/run"; }

std::string MetricsIn(const std::string& folder) {
  return RunDirIn(folder) + "/metrics.jsonl";
}

// A launch of `trial` that leaves everything in `folder`.
std::optional<LaunchRequest> LaunchOf(const CalibrationRequest& request,
                                      const Trial& trial,
                                      const std::string& folder,
                                      Problems& problems) {
  LaunchFlags flags = request.flags;
  flags.placement = trial.placement;
  flags.processes = {.from = ProcessCount::From::kNumber,
                     .number = trial.ranks};
  // The overrides change nothing that the plan depends on.
  auto plan =
      MakeLaunchPlan(flags, *request.machine, request.training, problems);
  if (!plan) return std::nullopt;
  LaunchRequest launch = request.launch;
  launch.plan = *std::move(plan);
  for (std::string& word : Overrides(*request.training, RunDirIn(folder))) {
    launch.argv.push_back(std::move(word));
  }
  launch.max_restarts = 0;
  launch.supervision.log_dir = folder + "/logs";
  launch.supervision.console_ranks = std::vector<int>();
  return launch;
}

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::vector<Trial> SensibleTrials(const Topology& machine) {
  std::vector<Trial> trials;
  const int packages = static_cast<int>(machine.packages.size());
  if (packages > 1) AddTrials(machine, 1, /*straddle=*/true, trials);
  AddTrials(machine, 1, /*straddle=*/false, trials);
  for (int ranks = std::max(packages, 2);; ranks *= 2) {
    const size_t before = trials.size();
    AddTrials(machine, ranks, /*straddle=*/false, trials);
    if (trials.size() == before) return trials;
  }
}

bool Measure(const CalibrationRequest& request, Trial& trial) {
  const ScratchFolder scratch;
  Problems problems;
  const std::optional<LaunchRequest> launch =
      LaunchOf(request, trial, scratch.path(), problems);
  if (!launch) {
    trial.failure = problems[0].message;
    return true;
  }
  const absl::StatusOr<LaunchReport> report = Launch(*launch, problems);
  if (!report.ok() || report->exit_code() != 0) {
    trial.failure = report.ok() ? FailureOf(*report)
                                : std::string(report.status().message());
    return !report.ok() || !report->attempts.back().interrupted;
  }
  const double seconds = SecondsPerStep(Content(MetricsIn(scratch.path())));
  const BatchSize batch = request.training->batch.value_or(BatchSize());
  if (seconds <= 0 || batch.per_rank == 0) {
    trial.failure = "too few steps in an epoch to measure";
  } else {
    trial.samples_per_second =
        static_cast<double>(batch.Effective(trial.ranks)) / seconds;
  }
  return true;
}

const Trial* Best(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.samples_per_second >
        (best == nullptr ? 0 : best->samples_per_second)) {
      best = &trial;
    }
  }
  return best;
}

double SecondsPerStep(const std::string& metrics) {
  std::vector<double> times;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const json entry = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.value("kind", "") == "step" &&
        entry["time"].is_number()) {
      times.push_back(entry["time"]);
    }
  }
  std::vector<double> intervals;
  for (size_t i = 1; i < times.size(); ++i) {
    intervals.push_back(times[i] - times[i - 1]);
  }
  if (intervals.size() > kMeasuredSteps) {
    intervals.erase(intervals.begin(), intervals.end() - kMeasuredSteps);
  }
  if (intervals.size() < kFewestIntervals) return 0;
  const auto middle =
      intervals.begin() + static_cast<ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  return *middle;
}

std::string FormatTrials(const std::vector<Trial>& trials) {
  const Trial* best = Best(trials);
  std::string text = absl::StrFormat("%-6s %-8s %-12s %s\n", "ranks", "threads",
                                     "samples/s", "flags");
  for (const Trial& trial : trials) {
    const std::string rate =
        trial.failure.empty()
            ? absl::StrFormat("%.1f", trial.samples_per_second)
            : "-";
    absl::StrAppendFormat(&text, "%-6d %-8d %-12s %s%s\n", trial.ranks,
                          trial.threads, rate,
                          trial.failure.empty() ? trial.flags : trial.failure,
                          &trial == best ? "   <- fastest" : "");
  }
  return text;
}

ordered_json ToJson(const std::vector<Trial>& trials) {
  ordered_json list = ordered_json::array();
  for (const Trial& trial : trials) {
    const bool measured = trial.failure.empty();
    list.push_back(
        {{"ranks", trial.ranks},
         {"threads", trial.threads},
         {"samples_per_second",
          measured ? ordered_json(trial.samples_per_second) : ordered_json()},
         {"failure", measured ? ordered_json() : ordered_json(trial.failure)},
         {"flags", trial.flags}});
  }
  return list;
}

}  // namespace slipway::launcher
