#include "trainer/loop/averaging.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/average.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/ending.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/nn/state_dict.h"
#include "trainer/report/json_lines.h"

namespace slipway::loop {
namespace {

namespace fs = std::filesystem;

constexpr char kAverage[] = "average_model.pth";

fs::path Folder(const Run& run) {
  return fs::path(run.options.run_dir) / "averaging";
}

std::string FileOf(const Run& run, int64_t epoch) {
  return (Folder(run) / absl::StrCat(epoch, ".pth")).string();
}

// The epoch of "<epoch>.pth"; nullopt for other names.
std::optional<int64_t> EpochOf(const fs::path& path) {
  const std::string stem = path.stem().string();
  int64_t epoch = 0;
  const auto [end, error] =
      std::from_chars(stem.data(), stem.data() + stem.size(), epoch);
  const bool whole = error == std::errc() && end == stem.data() + stem.size();
  if (!whole || path.extension() != ".pth") return std::nullopt;
  return epoch;
}

bool Averages(const Run& run) {
  const Hyperparams& h = run.hyperparams();
  return h.average_best_models && h.save_model && run.state.rank == 0 &&
         !run.options.run_dir.empty();
}

void Remove(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);  // a file too many does no harm
}

// False for a file that is none of ours, of another metric or model, or of an
// epoch that comes again.
bool Enter(Run& run, const fs::path& path) {
  const std::optional<int64_t> epoch = EpochOf(path);
  if (!epoch || *epoch > run.finished_epochs) return false;
  const absl::StatusOr<Checkpoint> model = ReadCheckpoint(path.string());
  if (!model.ok() || !model->best || model->best->name != run.watched.name()) {
    return false;
  }
  // A resume that is not strict may have changed it.
  if (!nn::CompareStateDicts(run.parts.model->StateDict(), model->net)
           .exact()) {
    return false;
  }
  run.average.best.Add({.epoch = *epoch, .value = model->best->value});
  return true;
}

// Puts `net` into the model for as long as it lives.
class Weights {
 public:
  Weights(nn::Module& model, const std::vector<nn::NamedTensor>& net)
      : model_(model) {
    for (const auto& [name, tensor] : model.StateDict()) {
      own_.emplace_back(name, tensor.clone());
    }
    status_ = nn::LoadStateDict(model_, net, /*strict=*/true);
  }
  ~Weights() { nn::LoadStateDict(model_, own_, true).IgnoreError(); }

  absl::Status status() const { return status_; }

 private:
  nn::Module& model_;
  std::vector<nn::NamedTensor> own_;
  absl::Status status_;
};

absl::Status EvaluateMean(Run& run, const Evaluation& evaluation,
                          Checkpoint& mean) {
  const Weights weights(*run.parts.model, mean.net);
  SLIPWAY_RETURN_IF_ERROR(weights.status());
  const absl::StatusOr<EvaluationResult> result =
      Evaluate(run.state, run.hooks(), evaluation);
  if (!result.ok()) return result.status();
  if (!result->complete) return absl::OkStatus();
  for (const auto& [name, value] : result->values) {
    mean.metrics["valid"][name] = value;
  }
  const auto* watched = FindMetric(result->values, run.watched.name());
  if (watched != nullptr) mean.acc = watched->second;
  return absl::OkStatus();
}

nlohmann::ordered_json Detail(const Run& run, const Checkpoint& mean) {
  nlohmann::ordered_json epochs = nlohmann::ordered_json::array();
  for (const RankedModel& model : run.average.best.models()) {
    epochs.push_back(model.epoch);
  }
  nlohmann::ordered_json detail = {{"file", kAverage},
                                   {"mean_of_epochs", epochs}};
  for (const auto& [split, metrics] : mean.metrics) {
    for (const auto& [name, value] : metrics) {
      detail["metrics"][name] = JsonNumber(value);
    }
  }
  return detail;
}

}  // namespace

void BeginAveraging(Run& run) {
  run.average.best = BestModels(run.watched.greater_is_better());
  if (!Averages(run)) return;
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator it(Folder(run), error), end; !error && it != end;
       it.increment(error)) {
    const bool temporary = it->path().extension() == ".tmp";
    const bool model = EpochOf(it->path()).has_value();
    if (temporary || (model && !Enter(run, it->path()))) {
      left.push_back(it->path());
    }
  }
  for (const fs::path& path : left) Remove(path);
}

void OfferModel(Run& run, const NamedValues& values) {
  // An evaluation in the middle of an epoch is no epoch's.
  if (!Averages(run) || run.batches_done < run.state.batches_per_epoch) return;
  const auto* watched = FindMetric(values, run.watched.name());
  if (watched == nullptr || !run.average.best.Takes(watched->second)) return;
  RunAverage::Candidate candidate;
  candidate.model = {.epoch = run.state.epoch + 1, .value = watched->second};
  for (const auto& [name, tensor] : run.parts.model->StateDict()) {
    candidate.net.emplace_back(name, tensor.detach().clone());
  }
  run.average.candidate = std::move(candidate);
}

void AddModelJob(Run& run, std::vector<SaveJob>& jobs) {
  if (!run.average.candidate) return;
  RunAverage::Candidate candidate =
      *std::exchange(run.average.candidate, std::nullopt);
  std::error_code error;
  // Not the run folder itself: where that is gone the writer says so.
  fs::create_directory(Folder(run), error);
  Checkpoint checkpoint;
  checkpoint.plan_hash = run.options.plan.hash;
  checkpoint.net = std::move(candidate.net);
  checkpoint.epoch = candidate.model.epoch;
  checkpoint.step = run.state.step;
  checkpoint.acc = candidate.model.value;
  checkpoint.best = BestResult{.name = run.watched.name(),
                               .value = candidate.model.value,
                               .epoch = candidate.model.epoch - 1};
  SaveJob& job = jobs.emplace_back();
  job.tree = CheckpointTree(checkpoint, job.tensors);
  job.files = {{.path = FileOf(run, candidate.model.epoch)}};
  job.frozen = true;
  run.average.writing.push_back(candidate.model);
}

bool TakeModelFile(Run& run, const std::string& path) {
  std::vector<RankedModel>& writing = run.average.writing;
  if (writing.empty() || path != FileOf(run, writing.front().epoch)) {
    return false;
  }
  for (const RankedModel& gone : run.average.best.Add(writing.front())) {
    Remove(FileOf(run, gone.epoch));
  }
  writing.erase(writing.begin());
  return true;
}

absl::Status WriteAverage(Run& run, const Evaluation* evaluation) {
  std::vector<std::string> paths;
  for (const RankedModel& model : run.average.best.models()) {
    paths.push_back(FileOf(run, model.epoch));
  }
  if (!Averages(run) || paths.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<nn::NamedTensor>> net = AverageNets(paths);
  if (!net.ok()) return Failed(run, "checkpoint", net.status());
  Checkpoint mean;
  mean.net = *std::move(net);
  mean.plan_hash = run.options.plan.hash;
  mean.recipe_yaml = run.options.recipe.ToYaml();
  mean.epoch = run.finished_epochs;
  mean.step = run.state.step;
  if (evaluation != nullptr) {
    SLIPWAY_RETURN_IF_ERROR(EvaluateMean(run, *evaluation, mean));
  }
  const absl::Status written =
      WriteCheckpoint(mean, absl::StrCat(run.options.run_dir, "/", kAverage));
  if (!written.ok()) return Failed(run, "checkpoint", written);
  run.result.average_checkpoint = kAverage;
  TellEvent(run, "checkpoint", Detail(run, mean));
  return absl::OkStatus();
}

}  // namespace slipway::loop
