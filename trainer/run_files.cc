#include "trainer/run_files.h"

#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/cut_metrics.h"
#include "trainer/planned_rates.h"
#include "trainer/replay_log.h"
#include "trainer/report/console.h"
#include "trainer/report/json_lines.h"
#include "trainer/report/tensorboard.h"

namespace slipway {
namespace {

// A console of which nobody sees more than its file.
class LogReporter : public Reporter {
 public:
  explicit LogReporter(std::ofstream file)
      : file_(std::move(file)),
        console_(file_,
                 {.progress = ConsoleOptions::Progress::kNone, .clock = {}}) {}

  absl::Status OnBegin(const BeginReport& begin) override {
    return Written(console_.OnBegin(begin));
  }
  absl::Status OnEpoch(const EpochReport& epoch) override {
    return Written(console_.OnEpoch(epoch));
  }
  absl::Status OnEvent(const EventReport& event) override {
    return Written(console_.OnEvent(event));
  }
  absl::Status OnProblem(const Problem& problem) override {
    return Written(console_.OnProblem(problem));
  }
  absl::Status OnEnd(const EndReport& end) override {
    return Written(console_.OnEnd(end));
  }

 private:
  absl::Status Written(absl::Status status) {
    file_.flush();
    return status;
  }

  std::ofstream file_;
  ConsoleReporter console_;
};

absl::Status WriteStates(const std::string& run_dir, int rank,
                         loop::Trainer& trainer) {
  const std::optional<int64_t> every = trainer.hyperparams().state_hash_every;
  if (!every) return absl::OkStatus();
  auto writer = ReplayLogWriter::Open(
      ReplayLogPath(run_dir, rank), ReplayEnvironment(trainer.model()), *every);
  if (!writer.ok()) return writer.status();
  trainer.ObserveState(*std::move(writer));
  return absl::OkStatus();
}

nlohmann::ordered_json PlanWithRates(const plan::Plan& plan,
                                     const loop::Trainer& trainer) {
  const std::vector<int64_t> steps =
      SpreadSteps(trainer.lr_plan().total_steps(), /*most=*/1000);
  nlohmann::ordered_json json = plan::ToJson(plan);
  nlohmann::ordered_json& groups = json["lr"] = nlohmann::ordered_json::array();
  for (const PlannedRates& group : PlanRates(trainer, steps)) {
    groups.push_back(
        {{"group", group.group}, {"steps", steps}, {"values", group.values}});
  }
  return json;
}

// As in SuperGradients, it is watched unless the recipe says no.
bool WatchesTheSystem(const recipe::Node& recipe) {
  const recipe::Node* wanted =
      recipe.FindPath("training_hyperparams.sg_logger_params.monitor_system");
  return wanted == nullptr || !wanted->is_bool() || wanted->AsBool();
}

// Where the lines of metrics.jsonl go on; before the first without a
// checkpoint.
MetricsPlace Begin(const loop::Trainer& trainer) {
  if (!trainer.resumed_from()) return {.epoch = -1, .step = -1};
  return {.epoch = trainer.resumed_from()->epoch,
          .step = trainer.resumed_from()->step};
}

}  // namespace

absl::Status StartRunFolder(const RunPlace& place,
                            const RunFolderRequest& request,
                            const recipe::Node& recipe, const plan::Plan& plan,
                            loop::Trainer& trainer) {
  absl::StatusOr<RunFolderLock> lock = CreateRunFolder(
      place.dir, request,
      {{"recipe.yaml", recipe.ToYaml()},
       {"plan.txt", plan::FormatPlan(plan)},
       {"plan.json", absl::StrCat(PlanWithRates(plan, trainer).dump(2), "\n")}},
      place.continues);
  if (!lock.ok()) return lock.status();
  const std::string metrics = absl::StrCat(place.dir, "/metrics.jsonl");
  if (place.continues) {
    const absl::Status cut = CutMetrics(metrics, Begin(trainer));
    if (!cut.ok()) return cut;
  }
  auto lines = JsonLinesReporter::Open(metrics);
  if (!lines.ok()) return lines.status();
  trainer.AddReporter(*std::move(lines));
  trainer.AddReporter(std::make_unique<TensorBoardReporter>(
      TensorBoardOptions{.folder = place.dir,
                         .recipe = recipe.ToJson(),
                         .monitor_system = WatchesTheSystem(recipe)}));
  trainer.AddReporter(std::make_unique<ResultReporter>(
      absl::StrCat(place.dir, "/result.json"), *std::move(lock)));
  return WriteStates(place.dir, /*rank=*/0, trainer);
}

absl::Status StartPeerFiles(const RunPlace& place, int rank,
                            loop::Trainer& trainer) {
  const std::string path = absl::StrCat(place.dir, "/rank", rank, ".log");
  std::ofstream file(path, std::ios::app);
  if (!file) return ErrnoStatus(errno, "open", path);
  trainer.AddReporter(std::make_unique<LogReporter>(std::move(file)));
  return WriteStates(place.dir, rank, trainer);
}

}  // namespace slipway
