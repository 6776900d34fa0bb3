// What is told about a training, and who hears it.
//
//   class ConsoleReporter : public Reporter {
//     void OnEpoch(const EpochReport& epoch) override;
//   };
//
// The loop tells every reporter the same things in the same order, on rank 0
// only and on the training thread: OnBegin; then OnStep, OnEvaluationProgress,
// OnEpoch and OnEvent as they happen; OnEnd, always, once. One that cannot
// write says so once through its Status (or throws) and is then left out, so
// that a full disk does not end a training. A plugin brings one as a component
// of kind `reporters`, which a recipe names: training_hyperparams.sg_logger.
#ifndef SLIPWAY_TRAINER_REPORT_REPORTER_H_
#define SLIPWAY_TRAINER_REPORT_REPORTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/problem.h"

namespace slipway {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct BeginReport {
  std::string run_dir;
  std::string experiment_name;
  std::string device;  // "cpu", "cuda:0"
  int world_size = 1;
  // Above zero after a resume: steps from first_step on, and results of epochs
  // from first_epoch on, are told (again).
  int64_t first_epoch = 0;
  int64_t first_step = 0;
  int64_t max_epochs = 0;
  int64_t batches_per_epoch = 0;
  int64_t train_samples = 0;
  int64_t valid_samples = 0;
  std::string architecture;
  int64_t parameters = 0;
  // The metric by which the best epoch is chosen, and its direction.
  std::string metric_to_watch;
  bool greater_is_better = true;
};

// One optimizer step. `loss` costs a wait for the device: it is set in the
// reports that are logged (every `log_every` steps) only.
struct StepReport {
  int64_t epoch = 0;
  int64_t batch = 0;  // batches done in this epoch
  int64_t step = 0;   // of this step, from 0
  std::optional<double> loss;
  // Per parameter group ("default"); filled in logged reports, and in the
  // first of each epoch.
  NamedValues learning_rates;
  double samples_per_second = 0;
  // Share of the time since the last logged report spent waiting for data.
  double data_wait = 0;
  bool logged = false;
};

// A batch of an evaluation was done (for progress bars).
struct EvaluationProgress {
  std::string split;
  int64_t batch = 0;
  int64_t batches = 0;
};

// Where an epoch's training spent its time.
struct TimeReport {
  // By phase: data, forward, loss, backward, synchronisation, optimizer,
  // metrics, hooks (of all plugins), other. What took none is left out.
  NamedValues seconds;
  // For people: "data 41 %, compute 57 %, hooks 2 %", and the one change that
  // would help; empty where none would help much.
  std::string shares;
  std::string advice;
};

// Results of a split after an epoch. The loss and its items are among the
// metrics, named as the loss is ("CrossEntropyLoss").
struct EpochReport {
  std::string split;  // "train", "valid", "test"
  int64_t epoch = 0;
  int64_t step = 0;  // optimizer steps done
  NamedValues metrics;
  double seconds = 0;
  // Of the watched metric, if this split has it and it is the best so far.
  bool is_best = false;
  // Of the training; empty for other splits.
  TimeReport time;
};

// Something worth a line: resume, checkpoint, skip_step, rollback, bad_sample,
// signal, restart, compile_ready, compile_fallback, non_finite, peer_lost.
struct EventReport {
  std::string name;
  int64_t epoch = 0;
  int64_t step = 0;
  nlohmann::ordered_json detail = nlohmann::ordered_json::object();
};

// How the training ended: the contents of result.json.
struct EndReport {
  nlohmann::ordered_json result;
  std::optional<Problem> error;
};

class Reporter {
 public:
  virtual ~Reporter();
  virtual absl::Status OnBegin(const BeginReport& begin);
  virtual absl::Status OnStep(const StepReport& step);
  virtual absl::Status OnEvaluationProgress(const EvaluationProgress& progress);
  virtual absl::Status OnEpoch(const EpochReport& epoch);
  virtual absl::Status OnEvent(const EventReport& event);
  // Warnings and notes that arise while training.
  virtual absl::Status OnProblem(const Problem& problem);
  virtual absl::Status OnEnd(const EndReport& end);
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_REPORTER_H_
