// What the parts of a training share: setup.cc makes it, trainer.cc runs it,
// capturing.cc and restoring.cc turn it into a value and back, saving.cc writes
// that to files. Internal to this folder.
#ifndef SLIPWAY_TRAINER_LOOP_RUN_H_
#define SLIPWAY_TRAINER_LOOP_RUN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/background_writer.h"
#include "trainer/dist/heartbeat.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/best_models.h"
#include "trainer/loop/decisions.h"
#include "trainer/loop/loss_meter.h"
#include "trainer/loop/loss_spike.h"
#include "trainer/loop/lr_plan.h"
#include "trainer/loop/phase_timer.h"
#include "trainer/loop/profile.h"
#include "trainer/loop/reporter_list.h"
#include "trainer/loop/run_result.h"
#include "trainer/loop/state_hash.h"
#include "trainer/loop/step.h"
#include "trainer/loop/step_sync.h"
#include "trainer/loop/trainer.h"
#include "trainer/loop/watched_metric.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {

// Of a checkpoint that was restored, what the beginning of an epoch would
// overwrite; the loop puts it back then (restoring.h).
struct RestoredEpoch {
  std::string rng;         // the CPU generator's; empty: there is none
  std::string device_rng;  // the device's
  std::vector<at::Tensor> meters;
  LossMeter::State train_loss;
};

// A position in the training, to tell whether one is saved already.
struct Position {
  int64_t epochs = -1;
  int64_t batches = -1;
  int64_t step = -1;
  bool operator==(const Position&) const = default;
};

// A file that is being written beside the training, and what is in it.
struct PendingFile {
  std::string file;  // in the run folder
  int64_t epoch = 0;
  int64_t step = 0;
};

// See saving.h. The writer is rank 0's.
struct RunSaves {
  BackgroundWriter writer;
  std::deque<PendingFile> pending;
};

// See averaging.h.
struct RunAverage {
  // Weights that were evaluated and are to be written.
  struct Candidate {
    RankedModel model;
    std::vector<nn::NamedTensor> net;
  };
  BestModels best;
  std::optional<Candidate> candidate;
  std::vector<RankedModel> writing;
};

// Members are destroyed last-in-first-out: the hooks, whose plugins may hold
// tensors of the model, before the model.
struct Run {
  using Clock = std::chrono::steady_clock;

  TrainerOptions options;
  TrainerParts parts;
  TrainingState state;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<LrPlan> lr_plan;
  std::unique_ptr<Stepper> stepper;
  LossMeter train_loss{"loss"};
  ReporterList reporters;
  WatchedMetric watched;
  std::optional<LossSpike> spikes;                // nullopt: no rule for them
  std::unique_ptr<StateObserver> state_observer;  // null: nobody looks
  std::atomic<int> stop_signal = 0;
  dist::ProcessGroup alone;

  // An epoch is finished when it is trained and, where that is due, validated.
  int64_t finished_epochs = 0;
  // Of the current epoch, as far as it has come.
  int64_t batches_done = 0;
  // Where the latest checkpoint stands.
  Position saved;
  std::optional<RestoredEpoch> restored;
  // A pass that a stop cut short. Whoever destroys it waits for the samples
  // that are being made, which may never come: that is left for the end.
  std::unique_ptr<data::Epoch> abandoned;
  // What the event `resume` says; null if this is no resumed run.
  nlohmann::ordered_json resume_detail;
  // Of the training before this process, and when this one's began.
  double earlier_seconds = 0;
  Clock::time_point started = Clock::now();
  NamedValues train_metrics;
  NamedValues valid_metrics;
  RunSaves saves;
  RunAverage average;

  // Set in Fit.
  std::unique_ptr<PhaseTimer> timer;
  std::optional<Decisions> decisions;
  std::unique_ptr<StepSync> sync;  // null: this process is alone
  dist::Heartbeat heartbeat;
  TimeReport train_time;
  StepProfiler profiler;

  RunResult result;
  // What ended the training, where more is known of it than its status.
  std::optional<Problem> failure;

  const Hyperparams& hyperparams() const { return options.hyperparams; }
  HookRunner& hooks() { return *parts.hooks; }
  // A world of one where there is no other.
  dist::ProcessGroup& group() {
    return options.group != nullptr ? *options.group : alone;
  }
  double SecondsSoFar() const {
    const std::chrono::duration<double> now = Clock::now() - started;
    return earlier_seconds + now.count();
  }
  Position position() const {
    return {finished_epochs, batches_done, state.step};
  }
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RUN_H_
